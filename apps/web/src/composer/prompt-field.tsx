import type { AgentCommand } from '@parley/protocol'
import { type ClipboardEvent, type KeyboardEvent, type RefObject, useEffect, useId, useState } from 'react'
import { abortable } from '../base/effects.ts'
import { type Store, useStore } from '../base/store.ts'
import type { Choice } from '../parts/choice-list.tsx'
import { ChoiceList } from '../parts/choice-list.tsx'
import type { Attachments } from './attachments.tsx'
import { type Completion, completionAt, matchingCommands, withChoice } from './completion.logic.ts'
import type { FindFiles } from './files.ts'

const noCommands: readonly AgentCommand[] = []

type Props = {
  field: RefObject<HTMLTextAreaElement | null>
  draft: Store<string>
  attachments: Attachments
  commands?: readonly AgentCommand[]
  findFiles: FindFiles
  side: 'above' | 'below'
  rows: number
  placeholder: string
  describedBy?: string | undefined
  className: string
  /** Handles keys that the completions do not use. Returns true if the key was used. */
  onKey: (event: KeyboardEvent) => boolean
  onType?: () => void
}

/** The prompt field: `/` completes commands, `@` completes files, and pasted files are attached. */
export function PromptField(props: Props) {
  const { field, draft, attachments, side, className, onKey } = props
  const text = useStore(draft)
  const { completion, listId, choices, place, choose, choiceKey, setCaret, setFocused } =
    useCompletionAtCaret(props, text)
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return
    const used = choices.length > 0 ? choiceKey(event) : onKey(event)
    if (used) event.preventDefault()
  }
  const onPaste = (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files]
    if (files.length === 0) return
    event.preventDefault()
    void attachments.add(files)
  }
  const isOpen = completion !== undefined && choices.length > 0
  return (
    <>
      {isOpen && (
        <ChoiceList
          id={listId}
          label={completion.kind === 'command' ? 'Commands' : 'Files'}
          sign={completion.kind === 'command' ? '/' : ''}
          side={side}
          choices={choices}
          place={place}
          onChoose={choose}
        />
      )}
      <textarea
        ref={field}
        rows={props.rows}
        value={text}
        aria-label="Prompt"
        aria-describedby={props.describedBy}
        role="combobox"
        aria-expanded={isOpen}
        aria-controls={isOpen ? listId : undefined}
        aria-activedescendant={isOpen ? `${listId}-${place}` : undefined}
        aria-autocomplete="list"
        placeholder={props.placeholder}
        onChange={(event) => {
          draft.set(event.target.value)
          setCaret(event.target.selectionStart)
          props.onType?.()
        }}
        onSelect={(event) => setCaret(event.currentTarget.selectionStart)}
        onKeyDown={onKeyDown}
        onFocus={() => setFocused(true)}
        onBlur={() => setFocused(false)}
        onPaste={onPaste}
        className={`field-sizing-content block max-h-[40dvh] w-full resize-none bg-transparent text-base outline-none ${className}`}
      />
    </>
  )
}

/** The completion at the caret, and the keys that select a choice. */
function useCompletionAtCaret(props: Props, text: string) {
  const { field, draft } = props
  const [caret, setCaret] = useState(text.length)
  const [focused, setFocused] = useState(false)
  const completion = focused ? completionAt(text, caret) : undefined
  const { listId, choices, place, move, dismiss } = useCompletions(props, completion)
  const choose = (value: string) => {
    if (!completion) return
    const next = withChoice(text, completion, value)
    draft.set(next.text)
    setCaret(next.caret)
    requestAnimationFrame(() => field.current?.setSelectionRange(next.caret, next.caret))
  }
  const choiceKey = ({ key, shiftKey }: KeyboardEvent): boolean => {
    if (key === 'ArrowDown') move(1)
    else if (key === 'ArrowUp') move(-1)
    else if ((key === 'Enter' && !shiftKey) || key === 'Tab') choose(choices[place]?.value ?? '')
    else if (key === 'Escape') dismiss()
    else return false
    return true
  }
  return { completion, listId, choices, place, choose, choiceKey, setCaret, setFocused }
}

const noChoices: readonly Choice[] = []

/** The choices at the caret, the index of the selected one, and functions for the keys of the prompt field. */
function useCompletions({ findFiles, commands = noCommands }: Props, completion: Completion | undefined) {
  const listId = useId()
  const [files, setFiles] = useState<readonly Choice[]>(noChoices)
  const [place, setPlace] = useState(0)
  const [dismissed, setDismissed] = useState<string>()
  const kind = completion?.kind
  const query = completion?.query ?? ''
  const stamp = kind && `${kind}:${completion?.from}`

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new query starts at its first choice
  useEffect(() => setPlace(0), [kind, query])
  useEffect(() => {
    if (kind !== 'file') return setFiles(noChoices)
    return abortable(async (signal) => {
      const found = await findFiles(query, signal)
      if (!signal.aborted) setFiles(found.map((value) => ({ value })))
    })
  }, [kind, query, findFiles])

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
