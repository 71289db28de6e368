import { type AgentInfo, attemptsInRound } from '@parley/protocol'
import { ChevronDown, Plus, X } from 'lucide-react'
import { type ReactNode, useRef } from 'react'
import { focusPrompt } from '../base/focus.ts'
import { visible } from '../base/format.logic.ts'
import { useModels } from '../base/models.ts'
import { choiceMenu, modelGroup } from '../composer/settings-chip.tsx'
import { AgentState } from '../parts/agents/agent-state.tsx'
import { IconButton } from '../parts/button.tsx'
import type { OptionGroup } from '../parts/choice-menu.tsx'
import { Menu } from '../parts/menu.tsx'
import { backToOneAgent, chooseAttempts } from '../session-data/attempt-choices.ts'
import type { Attempt } from './attempts.logic.ts'
import type { SessionChoices } from './session-choices.ts'

type Props = { choices: SessionChoices; attempts: readonly Attempt[] }

/** The agents and models that get the prompt, each in a worktree of its own. */
export default function AttemptChoices({ choices, attempts }: Props) {
  const list = useRef<HTMLOListElement>(null)
  const goBack = () => {
    backToOneAgent()
    focusPrompt()
  }
  const remove = (index: number) => {
    if (attempts.length <= attemptsInRound.min) return goBack()
    chooseAttempts(attempts.filter((_, at) => at !== index))
    // The pressed button was removed with its row, so the focus moves to the next row.
    const next = Math.min(index, attempts.length - 2)
    requestAnimationFrame(() => list.current?.children[next]?.querySelector('button')?.focus())
  }
  return (
    <section aria-label="Attempts" className="mt-2 rounded-xl border border-line px-2.5 py-2">
      <ol ref={list} className="flex flex-col">
        {attempts.map((attempt, index) => (
          <Row
            // biome-ignore lint/suspicious/noArrayIndexKey: attempts are identified by their number
            key={index}
            number={index + 1}
            attempt={attempt}
            agents={choices.agents}
            onChoose={(next) => chooseAttempts(attempts.map((one, at) => (at === index ? next : one)))}
            onRemove={() => remove(index)}
          />
        ))}
      </ol>
      <div className="flex flex-wrap items-center gap-x-2 pt-1">
        {attempts.length < attemptsInRound.max && (
          <TextButton onClick={() => chooseAttempts([...attempts, {}])}>
            <Plus size={14} aria-hidden /> Add an attempt
          </TextButton>
        )}
        <TextButton onClick={goBack}>Use one agent</TextButton>
      </div>
      <p className="px-1.5 pt-1 text-xs text-soft">{noteOf(choices)}</p>
    </section>
  )
}

function noteOf({ offer, folder }: SessionChoices): string {
  if (folder.trim() === '') return 'Choose a folder in a git repository.'
  if (offer?.refused) return visible(offer.refused.message)
  return 'Each attempt gets the prompt, and works in a worktree of its own, from the same commit. You compare them, and pick one.'
}

type RowProps = {
  number: number
  attempt: Attempt
  agents: readonly AgentInfo[]
  onChoose: (attempt: Attempt) => void
  onRemove: () => void
}

function Row({ number, attempt, agents, onChoose, onRemove }: RowProps) {
  const { model = '' } = attempt
  const agent = agents.find(({ id }) => id === attempt.agent)
  const models = useModels(agent)
  const groups: OptionGroup[] = [
    {
      label: 'Agent',
      value: attempt.agent,
      options: agents
        .filter(({ found, usable }) => found && usable !== false)
        .map((one) => ({ value: one.id, label: one.name, detail: <AgentState agent={one} /> })),
      onChoose: (id) => onChoose({ agent: id }),
    },
    ...(models.length > 0
      ? [
          modelGroup(
            model,
            models.map((one) => (one.isDefault ? { ...one, id: '' } : one)),
            (id) => onChoose({ agent: attempt.agent, ...(id !== '' && { model: id }) }),
          ),
        ]
      : []),
  ]
  const modelName = models.find(({ id }) => id === model)?.name ?? model
  return (
    <li className="flex items-center gap-1">
      <span aria-hidden className="w-5 text-center text-xs text-faint tabular-nums">
        {number}
      </span>
      <Menu
        label={`Agent and model of attempt ${number}`}
        look="text"
        part={choiceMenu}
        list={(ChoiceMenu, menu) => <ChoiceMenu {...menu} groups={groups} />}
        className="max-w-full"
      >
        <span className="truncate">
          <span className="sr-only">Attempt {number}: </span>
          <span className="font-medium">{agent?.name ?? attempt.agent}</span>
          {modelName !== '' && <span> · {visible(modelName)}</span>}
        </span>
        <ChevronDown size={13} aria-hidden className="shrink-0" />
      </Menu>
      <IconButton label={`Remove attempt ${number}`} onClick={onRemove} className="ml-auto">
        <X size={14} />
      </IconButton>
    </li>
  )
}

type TextButtonProps = { onClick: () => void; children: ReactNode }

function TextButton({ onClick, children }: TextButtonProps) {
  return (
    <button
      type="button"
      onClick={onClick}
      className="inline-flex min-h-7 items-center gap-1 rounded-md px-1.5 text-xs font-medium text-mark hover:bg-hover pointer-coarse:min-h-11"
    >
      {children}
    </button>
  )
}
