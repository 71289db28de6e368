import { useSessions } from '@parley/client/react'
import { Folder } from 'lucide-react'
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import { client } from '../base/client.ts'
import { abortable } from '../base/effects.ts'
import type { FolderProblem } from '../base/folder-problem.logic.ts'
import { ChoiceList } from '../parts/choice-list.tsx'
import { folderChoices } from './folder-choices.logic.ts'

type Props = {
  value: string
  problem: FolderProblem | undefined
  onChange: (folder: string) => void
  onLeave: () => void
}

/**
 * The working folder: typed with completion, or chosen from recent folders. Nothing is selected
 * automatically.
 */
export function FolderField({ value, problem, onChange, onLeave }: Props) {
  const id = useId()
  const { choices, place, write, setOpen, onKeyDown } = useFolderChoices(value, onChange)
  const shown = choices.length > 0
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (!problem?.refused) return
    field.current?.focus()
    // Closes the list of choices, which would cover the problem.
    setOpen(false)
  }, [problem, setOpen])
  const frame = problem
    ? 'border-bad outline-1 outline-bad'
    : 'border-field focus-within:border-mark focus-within:outline-1 focus-within:outline-mark'
  return (
    <>
      <div className="relative flex min-w-0 flex-1 basis-64">
        <label
          className={`flex h-9 min-w-0 flex-1 items-center gap-2 rounded-lg border bg-page pl-2.5 text-soft pointer-coarse:h-11 ${frame}`}
        >
          <Folder size={15} aria-hidden className="shrink-0" />
          <span aria-hidden className="text-sm font-medium">
            Folder
          </span>
          <input
            ref={field}
            aria-label="Folder"
            aria-invalid={problem !== undefined}
            aria-describedby={problem && `${id}-problem`}
            role="combobox"
            aria-expanded={shown}
            aria-controls={shown ? id : undefined}
            aria-activedescendant={shown && place >= 0 ? `${id}-${place}` : undefined}
            aria-autocomplete="list"
            value={value}
            placeholder="~"
            spellCheck={false}
            autoCapitalize="off"
            autoComplete="off"
            onFocus={() => setOpen(true)}
            onBlur={() => {
              setOpen(false)
              onLeave()
            }}
            onKeyDown={onKeyDown}
            onChange={(event) => write(event.target.value)}
            className="h-full min-w-0 flex-1 bg-transparent pr-2 text-sm text-ink outline-none pointer-coarse:text-base"
          />
        </label>
        {shown && (
          <ChoiceList
            id={id}
            label="Folders"
            choices={choices}
            place={place}
            side="below"
            onChoose={(folder) => write(`${folder}/`)}
          />
        )}
      </div>
      {problem && (
        <p
          id={`${id}-problem`}
          role="alert"
          className="basis-full px-1 text-xs [overflow-wrap:anywhere] text-bad"
        >
          {problem.text}
        </p>
      )}
    </>
  )
}

/** The choices below the field, and the handler of the keys that select a choice. */
function useFolderChoices(value: string, onChange: (folder: string) => void) {
  const { sessions } = useSessions({ archived: 'all' })
  const recents = [...new Set(sessions.filter(({ worktree }) => !worktree).map(({ cwd }) => cwd))]
  const [open, setOpen] = useState(false)
  const [place, setPlace] = useState(-1)
  const found = useFolders(value, open)
  const choices = open ? folderChoices(value, recents, found) : []
  const write = (folder: string) => {
    onChange(folder)
    setPlace(-1)
    setOpen(true)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const chosen = choices[place]
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      if (!open) setOpen(true)
      const count = choices.length + 1
      setPlace((before) => ((before + 1 + (event.key === 'ArrowDown' ? 1 : -1) + count) % count) - 1)
    } else if (chosen && (event.key === 'Enter' || (event.key === 'Tab' && !event.shiftKey))) {
      write(`${chosen.value}/`)
    } else if (event.key === 'Escape' && choices.length > 0) {
      setOpen(false)
    } else return
    event.preventDefault()
    event.stopPropagation()
  }
  return { choices, place, write, setOpen, onKeyDown }
}

const noFolders: readonly string[] = []

/** The folders that match the typed path. Empty if they cannot be listed: the reason is shown when the session starts. */
function useFolders(typed: string, wanted: boolean): readonly string[] {
  const [found, setFound] = useState(noFolders)
  useEffect(() => {
    if (!wanted) return
    return abortable((signal) =>
      client.call('findFolders', { query: { q: typed.trim(), limit: 40 }, signal }).then(
        ({ folders }) => signal.aborted || setFound(folders),
        () => signal.aborted || setFound(noFolders),
      ),
    )
  }, [typed, wanted])
  return found
}
