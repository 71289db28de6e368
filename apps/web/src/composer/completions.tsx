import type { AgentCommand } from '@parley/protocol'
import { type RefObject, useEffect, useId, useState } from 'react'
import { visible } from '../page/words.logic.ts'
import { type Completion, matchingCommands } from './completion.logic.ts'
import { filesLike } from './files.ts'

type Choice = { readonly value: string; readonly note?: string }
const noChoices: readonly Choice[] = []

/** What can be chosen at the caret, and which of it is. The field keeps the focus; this follows its keys. */
export function useCompletions(input: {
  sessionId: string
  commands: readonly AgentCommand[]
  completion: Completion | undefined
}) {
  const { sessionId, commands, completion } = input
  const listId = useId()
  const [files, setFiles] = useState<readonly Choice[]>(noChoices)
  const [place, setPlace] = useState(0)
  const [dismissed, setDismissed] = useState<string>()
  const kind = completion?.kind
  const query = completion?.query ?? ''
  const stamp = kind && `${kind}:${completion?.from}`

  // biome-ignore lint/correctness/useExhaustiveDependencies: other words, other choices
  useEffect(() => setPlace(0), [kind, query])
  useEffect(() => {
    if (kind !== 'file') return setFiles(noChoices)
    const controller = new AbortController()
    void filesLike(sessionId, query, controller.signal).then((found) => {
      if (!controller.signal.aborted) setFiles(found.map((value) => ({ value })))
    })
    return () => controller.abort()
  }, [kind, query, sessionId])

  const fitting =
    kind === 'command'
      ? matchingCommands(commands, query).map(
          ({ name, description }): Choice => ({ value: name, ...(description && { note: description }) }),
        )
      : kind === 'file'
        ? files
        : noChoices
  const choices = stamp !== undefined && dismissed === stamp ? noChoices : fitting
  return {
    listId,
    choices,
    place: Math.min(place, Math.max(0, choices.length - 1)),
    move: (by: number) => setPlace((before) => (before + by + choices.length) % Math.max(1, choices.length)),
    dismiss: () => setDismissed(stamp),
  }
}

export function CompletionList({
  id,
  kind,
  choices,
  place,
  onChoose,
}: {
  id: string
  kind: 'command' | 'file'
  choices: readonly Choice[]
  place: number
  onChoose: (value: string) => void
}) {
  return (
    <div
      id={id}
      role="listbox"
      aria-label={kind === 'command' ? 'Commands' : 'Files'}
      className="absolute inset-x-0 bottom-full z-20 mb-1 max-h-72 overflow-y-auto rounded-lg border border-edge bg-card p-1 shadow-xl"
    >
      {choices.map((choice, index) => (
        <Option
          key={choice.value}
          id={`${id}-${index}`}
          selected={index === place}
          sign={kind === 'command' ? '/' : ''}
          choice={choice}
          onChoose={onChoose}
        />
      ))}
    </div>
  )
}

function Option({
  id,
  selected,
  sign,
  choice,
  onChoose,
}: {
  id: string
  selected: boolean
  sign: string
  choice: Choice
  onChoose: (value: string) => void
}) {
  const scroll = (element: HTMLElement | null) => {
    if (selected) element?.scrollIntoView({ block: 'nearest' })
  }
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys
    <div
      id={id}
      ref={scroll as unknown as RefObject<HTMLDivElement>}
      role="option"
      tabIndex={-1}
      aria-selected={selected}
      onPointerDown={(event) => event.preventDefault()}
      onClick={() => onChoose(choice.value)}
      className={`flex min-h-7 cursor-pointer items-baseline gap-3 rounded-md px-2 py-1 text-sm pointer-coarse:min-h-11 ${selected ? 'bg-mark-wash' : 'hover:bg-hover'}`}
    >
      <span className="shrink-0 font-mono text-[0.8125rem]">
        {sign}
        {visible(choice.value)}
      </span>
      {choice.note && <span className="truncate text-xs text-soft">{visible(choice.note)}</span>}
    </div>
  )
}
