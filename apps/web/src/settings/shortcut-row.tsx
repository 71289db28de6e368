import { Pencil, RotateCcw } from 'lucide-react'
import { type KeyboardEvent, useRef, useState } from 'react'
import { keyName } from '../base/key-names.ts'
import { preferences } from '../base/preferences.ts'
import {
  type Action,
  actionOf,
  chosenShortcut,
  defaultShortcuts,
  keysIn,
  shortcutOf,
} from '../base/shortcuts.logic.ts'
import { chooseShortcut } from '../base/shortcuts.ts'
import { useStore } from '../base/store.ts'
import { announce } from '../parts/announcer.tsx'
import { Button, IconButton, Key } from '../parts/button.tsx'
import { actionNames, reservedFor } from './recordable-keys.logic.ts'

const named = (shortcut: string) => keysIn(shortcut).map(keyName).join('+')

type Conflict = { readonly shortcut: string; readonly other: Action }

/** The shortcut of an action, with buttons to record another and to restore the default. */
export function ShortcutRow({ action }: { action: Action }) {
  const chosen = useStore(preferences, (state) => state.shortcuts)
  const shortcut = chosenShortcut(action, chosen)
  const [isRecording, setRecording] = useState(false)
  const [problem, setProblem] = useState<string>()
  const [conflict, setConflict] = useState<Conflict>()
  const change = useRef<HTMLButtonElement>(null)
  const name = actionNames[action]

  const set = (wanted: string | null) => {
    setRecording(false)
    setProblem(undefined)
    const other = wanted === null ? undefined : actionOf(wanted, chosen)
    if (wanted !== null && other !== undefined && other !== action)
      return setConflict({ shortcut: wanted, other })
    chooseShortcut(action, wanted === defaultShortcuts[action] ? undefined : wanted)
    announce(wanted === null ? `${name} has no shortcut.` : `${name}: ${named(wanted)}`)
  }
  const record = (event: KeyboardEvent) => {
    if (!isRecording || event.key === 'Tab') return
    event.preventDefault()
    event.stopPropagation()
    if (event.key === 'Escape') return stop()
    if (event.key === 'Backspace') return set(null)
    const pressed = shortcutOf(event.nativeEvent)
    if (pressed === undefined) return
    const reason = reservedFor(pressed)
    if (reason === undefined) set(pressed)
    else setProblem(reason)
  }
  const stop = () => {
    setRecording(false)
    setProblem(undefined)
  }
  const replace = ({ shortcut: wanted, other }: Conflict) => {
    setConflict(undefined)
    chooseShortcut(other, null)
    chooseShortcut(action, wanted === defaultShortcuts[action] ? undefined : wanted)
    announce(`${name}: ${named(wanted)}. ${actionNames[other]} has no shortcut.`)
    change.current?.focus()
  }
  return (
    <div>
      <div className="flex min-h-7 items-center gap-1.5">
        <span className="min-w-0 flex-1 text-soft">{name}</span>
        <span className="flex shrink-0 gap-1">
          {isRecording ? 'Press keys…' : <ShownShortcut shortcut={shortcut} />}
        </span>
        {chosen[action] !== undefined && (
          <IconButton label={`Reset: ${name}`} onClick={() => set(defaultShortcuts[action])}>
            <RotateCcw size={13} />
          </IconButton>
        )}
        <IconButton
          ref={change}
          label={`Change: ${name}`}
          aria-pressed={isRecording}
          className={isRecording ? 'bg-mark-wash text-mark!' : ''}
          onClick={() => {
            setConflict(undefined)
            setRecording(true)
          }}
          onKeyDown={record}
          onBlur={stop}
        >
          <Pencil size={13} />
        </IconButton>
      </div>
      <p role="status" className="text-right text-xs text-soft empty:hidden">
        {isRecording && (problem ?? 'Esc cancels. Backspace removes the shortcut.')}
        {conflict && `${named(conflict.shortcut)} is the shortcut of “${actionNames[conflict.other]}”.`}
      </p>
      {conflict && (
        <p className="flex justify-end gap-1.5 pt-1">
          <Button onClick={() => replace(conflict)}>Use it here</Button>
          <Button look="quiet" onClick={() => setConflict(undefined)}>
            Cancel
          </Button>
        </p>
      )}
    </div>
  )
}

function ShownShortcut({ shortcut }: { shortcut: string | undefined }) {
  if (shortcut === undefined) return <span className="text-faint">None</span>
  return keysIn(shortcut).map((key) => (
    <Key key={key} always>
      {key}
    </Key>
  ))
}
