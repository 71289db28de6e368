import type { Attempt, Round } from '@parley/protocol'
import { Check, FileDiff, MessageCircleQuestion } from 'lucide-react'
import { type ReactNode, useId } from 'react'
import { useAgentName } from '../base/agents.ts'
import { plural, visible } from '../base/format.logic.ts'
import { navigate } from '../base/route.ts'
import { useMay } from '../base/self.ts'
import { Button } from '../parts/button.tsx'
import { DiffCount } from '../parts/diff/diff-count.tsx'
import { Link } from '../parts/link.tsx'
import { openChanges } from '../session-data/shown-changes.ts'
import { AttemptCheck } from './attempt-check.tsx'
import { costText, notReported, stateText, tokensText } from './round.logic.ts'
import { tones } from './tones.ts'
import { useLastLine } from './use-last-line.ts'
import { WorkedTime } from './worked-time.tsx'

type Props = {
  round: Round
  attempt: Attempt
  /** Whether the changes of this attempt are shown below. */
  isShown: boolean
  onShow: () => void
  onPick: () => void
}

/** One attempt: its state, its changes, its check, its cost, and the actions on it. */
export function AttemptColumn({ round, attempt, isShown, onShow, onPick }: Props) {
  const { attempt: number, failure, requests, sessionId, worktree } = attempt
  const nameId = useId()
  const line = useLastLine(attempt)
  return (
    <li className="min-w-0 snap-start scroll-mx-5 max-md:scroll-mx-3">
      <article
        aria-labelledby={nameId}
        data-attempt={number}
        className={`flex h-full flex-col gap-2.5 rounded-xl border bg-card p-3.5 ${isShown ? 'border-mark' : 'border-line'}`}
      >
        <header className="flex items-start gap-2">
          <Name id={nameId} attempt={attempt} />
          <State attempt={attempt} />
        </header>
        {failure && <p className="text-sm [overflow-wrap:anywhere] text-bad">{visible(failure.message)}</p>}
        {requests > 0 && (
          <Link
            to={{ name: 'session', id: sessionId }}
            className="flex min-h-8 items-center gap-1.5 rounded-md bg-wait-wash px-2 text-sm font-medium text-wait hover:underline pointer-coarse:min-h-11"
          >
            <MessageCircleQuestion size={15} aria-hidden className="shrink-0" />
            Answer {plural(requests, 'request')}
          </Link>
        )}
        <Facts round={round} attempt={attempt} />
        {line !== undefined && (
          <p className="line-clamp-3 border-l-2 border-line pl-2.5 text-sm [overflow-wrap:anywhere] text-soft">
            <span className="sr-only">Last line of the answer: </span>
            {visible(line)}
          </p>
        )}
        {worktree?.kept && attempt.pick === 'passed-over' && (
          <p className="text-xs text-soft">The worktree was kept: something in it exists nowhere else.</p>
        )}
        <div className="mt-auto flex flex-wrap gap-1.5 pt-1">
          <MergeButton attempt={attempt} />
          <PickButton attempt={attempt} hasPick={round.picked !== undefined} onPick={onPick} />
          <Button
            aria-pressed={isShown}
            aria-label={`Changes of attempt ${number}`}
            onClick={onShow}
            className={isShown ? 'border-mark! text-mark!' : ''}
          >
            <FileDiff size={14} aria-hidden /> Changes
          </Button>
          <Link
            to={{ name: 'session', id: sessionId }}
            aria-label={`Open session of attempt ${number}`}
            className="inline-flex min-h-8 items-center rounded-md px-2 text-sm font-medium text-soft hover:bg-hover hover:text-ink pointer-coarse:min-h-11"
          >
            Open session
          </Link>
        </div>
      </article>
    </li>
  )
}

function Name({ id, attempt: { attempt: number, agent, model } }: { id: string; attempt: Attempt }) {
  const agentName = useAgentName(agent)
  return (
    <h2 id={id} className="min-w-0 flex-1 text-sm leading-tight">
      <span className="sr-only">Attempt </span>
      <span className="font-semibold">
        {number} · {agentName}
      </span>
      {model !== undefined && (
        <span className="block pt-0.5 text-xs font-normal [overflow-wrap:anywhere] text-soft">
          {visible(model)}
        </span>
      )}
    </h2>
  )
}

function State({ attempt }: { attempt: Attempt }) {
  const { text, tone } = stateText(attempt)
  const isBusy = attempt.state === 'working' || attempt.state === 'preparing'
  return (
    <span className="flex shrink-0 flex-col items-end gap-1 text-xs">
      <span className={`flex items-center gap-1.5 font-medium ${tones[tone]}`}>
        {isBusy && <span aria-hidden className="breathe size-2 rounded-full border-2 border-mark" />}
        {text}
      </span>
      {attempt.pick === 'picked' && (
        <span className="flex items-center gap-0.5 rounded-full bg-good-wash px-1.5 font-medium text-good">
          <Check size={12} aria-hidden /> Picked
        </span>
      )}
      {attempt.pick === 'passed-over' && <span className="text-soft">Passed over</span>}
    </span>
  )
}

function Facts({ round, attempt }: Pick<Props, 'round' | 'attempt'>) {
  const { changes, tokens } = attempt
  return (
    <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 gap-y-1 text-sm tabular-nums">
      <Fact name="Time">
        <WorkedTime attempt={attempt} />
      </Fact>
      <Fact name="Files">
        {changes === undefined ? (
          <span className="text-faint">not known yet</span>
        ) : (
          <>
            {changes.files}
            {changes.cut && '+'} <DiffCount added={changes.added} removed={changes.removed} isShort />
            {changes.late && <span className="text-soft"> · some may be missing</span>}
          </>
        )}
      </Fact>
      <Fact name="Check">
        <AttemptCheck round={round} attempt={attempt} />
      </Fact>
      <Fact name="Tokens">{faintIfNotTold(tokensText(tokens))}</Fact>
      <Fact name="Cost">{faintIfNotTold(costText(attempt))}</Fact>
    </dl>
  )
}

const faintIfNotTold = (text: string) =>
  text === notReported ? <span className="text-faint">{text}</span> : text

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-soft">{name}</dt>
      <dd className="min-w-0 [overflow-wrap:anywhere]">{children}</dd>
    </>
  )
}

type PickProps = { attempt: Attempt; hasPick: boolean; onPick: () => void }

function PickButton({ attempt, hasPick, onPick }: PickProps) {
  const decides = useMay('decide')
  const { pick, worktree, attempt: number } = attempt
  if (!decides || pick === 'picked') return null
  // An attempt whose worktree could not be made has no changes to pick.
  const isEmpty = worktree?.phase === 'failed' && attempt.turns === 0
  return (
    <Button
      look={hasPick ? 'plain' : 'primary'}
      aria-label={hasPick ? `Pick attempt ${number} instead` : `Pick attempt ${number}`}
      disabled={isEmpty || worktree?.phase === 'removing'}
      onClick={onPick}
    >
      {hasPick ? 'Pick instead' : 'Pick'}
    </Button>
  )
}

/** Opens the session of the picked attempt with its branch, where the changes are committed and merged. */
function MergeButton({ attempt: { attempt: number, pick, worktree, sessionId } }: { attempt: Attempt }) {
  const decides = useMay('decide')
  if (!decides || pick !== 'picked' || worktree?.phase !== 'ready') return null
  const open = () => {
    openChanges(sessionId, { scope: 'base' })
    navigate({ name: 'session', id: sessionId })
  }
  return (
    <Button look="primary" aria-label={`Merge attempt ${number}…`} onClick={open}>
      Merge…
    </Button>
  )
}
