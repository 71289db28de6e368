import { answersProblem, type Question } from '@parley/protocol'
import { useEffect, useRef } from 'react'
import { useAgentName } from '../base/agents.ts'
import { visible } from '../base/format.logic.ts'
import { useMay } from '../base/self.ts'
import { Button, Key } from '../parts/button.tsx'
import { LazyMarkdown } from '../parts/markdown/lazy-markdown.tsx'
import { NeedsScope } from '../parts/needs-scope.tsx'
import { useAnswerDraft } from './answer-draft.ts'
import { useAnswer } from './answers.ts'
import { AwaitedNote } from './awaited-note.tsx'
import { Card, focusCard } from './card.tsx'
import { type CardProps, type OpenQuestion, requesterName } from './choices.logic.ts'
import { answersOf, choose, type Filled, filledFor, leftToAgent, write } from './question-form.logic.ts'

type Props = CardProps & { request: OpenQuestion }

export function QuestionCard({ session, request, takesFocus, awaited }: Props) {
  const agentName = useAgentName(session.agent)
  const { answer, sending } = useAnswer(session.id, request)
  const [{ filled = {} }, keep] = useAnswerDraft(request.requestId)
  const setFilled = (next: Filled) => keep({ filled: next })
  const answers = answersOf(request.questions, filled)
  const complete = answersProblem(request.questions, answers) === undefined
  const left = leftToAgent(request.questions, answers)
  const open =
    request.questions.find((question) => answers[question.id] === undefined) ?? request.questions.at(-1)!

  const form = useRef<HTMLFormElement>(null)
  const decides = useMay('decide')
  /** A digit chooses an option of the first unanswered question; Enter sends the answers. */
  const onKey = (key: string) => {
    if (!decides) return false
    const option = /^[1-9]$/.test(key) ? open.options[Number(key) - 1] : undefined
    if (option) {
      // The focus moves to the card, so that Enter sends the choice.
      if (form.current) focusCard(form.current)
      setFilled(choose(filled, open, option.label))
    } else if (key === 'Enter' && complete) answer(answers)
    else return false
    return true
  }
  return (
    <Card
      label={`${requesterName(request, agentName)} asks: ${open.text}`}
      takesFocus={takesFocus}
      onKey={onKey}
    >
      <form
        ref={form}
        onSubmit={(event) => {
          event.preventDefault()
          if (!complete || !decides) return
          focusCard(event.currentTarget)
          answer(answers)
        }}
      >
        <div
          data-asked
          // On a screen of small height the whole card scrolls: a nested scroll area would hide the last question.
          className="flex max-h-[min(30rem,50dvh)] flex-col gap-4 overflow-y-auto px-3.5 pt-3 [@media(height<28rem)]:max-h-none"
          tabIndex={-1}
        >
          <fieldset disabled={!decides} className="contents [&_input]:disabled:opacity-60">
            {request.questions.map((question, index) => (
              <QuestionField
                key={question.id}
                question={question}
                place={
                  request.questions.length > 1 ? `${index + 1} of ${request.questions.length}` : undefined
                }
                filled={filled}
                numbered={question === open}
                name={`${request.requestId}:${question.id}`}
                onChange={setFilled}
              />
            ))}
          </fieldset>
        </div>
        <AwaitedNote machine={awaited} />
        {decides ? (
          <AnswerBar
            complete={complete}
            sending={sending}
            several={request.questions.length > 1}
            onLeaveToAgent={left && (() => answer(left))}
          />
        ) : (
          <NeedsScope what="Answering" scope="decide" className="px-3.5 pt-2.5 pb-3" />
        )}
      </form>
    </Card>
  )
}

type AnswerBarProps = {
  complete: boolean
  sending: boolean
  several: boolean
  /** Set only if every open question can be left to the agent. */
  onLeaveToAgent: (() => void) | undefined
}

function AnswerBar({ complete, sending, several, onLeaveToAgent }: AnswerBarProps) {
  return (
    <div className="flex flex-wrap items-center gap-2 px-3.5 pt-2.5 pb-3">
      <Button look="good" type="submit" disabled={!complete || sending}>
        Answer <Key>⏎</Key>
      </Button>
      {onLeaveToAgent && (
        <Button
          look="quiet"
          disabled={sending}
          onClick={(event) => {
            focusCard(event.currentTarget)
            onLeaveToAgent()
          }}
        >
          Let the agent decide
        </Button>
      )}
      {!complete && (
        <span className="text-xs text-faint">
          {several ? 'Answer every question to continue.' : 'Choose an option, or write your own answer.'}
        </span>
      )}
    </div>
  )
}

type QuestionFieldProps = {
  question: Question
  /** The position among several questions. */
  place: string | undefined
  filled: Filled
  numbered: boolean
  name: string
  onChange: (filled: Filled) => void
}

function QuestionField({ question, place, filled, numbered, name, onChange }: QuestionFieldProps) {
  const { chosen, words } = filledFor(filled, question.id)
  return (
    <fieldset>
      <legend className="pb-1.5 text-sm font-semibold">
        {question.header && question.header !== question.text && (
          <span className="mr-2 rounded bg-wait-wash px-1.5 py-0.5 text-xs font-medium text-wait">
            {visible(question.header)}
          </span>
        )}
        {visible(question.text)}
        {place !== undefined && <span className="pl-1.5 text-xs font-normal text-faint">{place}</span>}
        {question.multiple && (
          <span className="pl-1.5 text-xs font-normal text-faint">Select all that apply</span>
        )}
      </legend>
      <div className="flex flex-col gap-1">
        {question.options.map((option, index) => (
          <Option
            key={option.label}
            option={option}
            type={question.multiple ? 'checkbox' : 'radio'}
            name={name}
            number={numbered && index < 9 ? index + 1 : undefined}
            chosen={chosen.includes(option.label)}
            onChoose={() => onChange(choose(filled, question, option.label))}
          />
        ))}
        {question.freeText && (
          <input
            aria-label={`Your own answer to: ${question.text}`}
            placeholder="Something else"
            value={words}
            onChange={(event) => onChange(write(filled, question, event.target.value))}
            className="field pointer-coarse:py-2.5 pointer-coarse:text-base"
          />
        )}
      </div>
    </fieldset>
  )
}

/** Scrolls a part into view inside the card's scroll area only. */
function scrollWithin(part: HTMLElement): void {
  const area = part.closest('[data-asked]')
  if (!area) return
  const [inner, outer] = [part.getBoundingClientRect(), area.getBoundingClientRect()]
  area.scrollTop += Math.min(Math.max(0, inner.bottom - outer.bottom), inner.top - outer.top)
}

type OptionProps = {
  option: Question['options'][number]
  type: 'checkbox' | 'radio'
  name: string
  number: number | undefined
  chosen: boolean
  onChoose: () => void
}

/** An option with its preview below it, scrolled into view when the option is chosen. */
function Option({ option, type, name, number, chosen, onChoose }: OptionProps) {
  const { label, description, preview } = option
  const both = useRef<HTMLDivElement>(null)
  const shown = chosen ? preview : undefined
  useEffect(() => {
    if (shown && both.current) scrollWithin(both.current)
  }, [shown])
  return (
    <div ref={both}>
      <label
        className={`flex min-h-9 items-start gap-2.5 rounded-md border px-2.5 py-1.5 text-sm pointer-coarse:min-h-11 pointer-coarse:py-2.5 ${chosen ? 'border-mark bg-mark-wash' : 'border-line hover:bg-hover/60'}`}
      >
        <input
          type={type}
          name={name}
          checked={chosen}
          onChange={onChoose}
          className="mt-1 accent-mark-fill"
        />
        <span className="min-w-0 flex-1">
          {visible(label)}
          {description && <span className="block text-xs text-soft">{visible(description)}</span>}
        </span>
        {number !== undefined && (
          <span className="text-faint">
            <Key>{number}</Key>
          </span>
        )}
      </label>
      {shown && (
        <div
          data-testid="preview"
          className="mt-1 max-h-44 overflow-y-auto rounded-md border border-line p-3"
          tabIndex={-1}
        >
          <LazyMarkdown text={shown} />
        </div>
      )}
    </div>
  )
}
