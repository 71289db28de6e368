import type { SessionSummary } from '@parley/protocol'
import {
  ArrowRightLeft,
  FileDiff,
  FolderOpen,
  ListChecks,
  Pencil,
  ScanText,
  Search,
  SquareTerminal,
} from 'lucide-react'
import { type Preferences, setPreferences } from '../base/preferences.ts'
import { may } from '../base/self.ts'
import type { Action } from '../base/shortcuts.logic.ts'
import type { MenuEntry } from '../parts/menu-list.tsx'
import { sessionActions } from '../session-data/session-actions.ts'
import { exportEntry, lifecycleEntries } from '../sessions/session-entries.tsx'

/** `shortcut`: the action of the page whose shortcut does the same. */
export type PaletteCommand = MenuEntry & { readonly shortcut?: Action }

export function sessionCommands(session: SessionSummary): readonly PaletteCommand[] {
  const show = (sidePanel: Preferences['sidePanel']) => () => setPreferences({ sidePanel })
  const { change, remove } = lifecycleEntries(session)
  const { icon, entries } = exportEntry(session.id)
  return [
    { label: 'Changes', icon: FileDiff, onSelect: show('changes') },
    { label: 'Files', icon: FolderOpen, onSelect: show('files') },
    ...(may('terminal') ? [{ label: 'Terminals', icon: SquareTerminal, onSelect: show('terminal') }] : []),
    // Deferred until the palette has returned the focus.
    {
      label: 'Find in session',
      icon: Search,
      shortcut: 'find',
      onSelect: later(() => sessionActions()?.find()),
    },
    ...(may('prompt')
      ? [
          { label: 'Rename', icon: Pencil, onSelect: later(() => sessionActions()?.rename()) },
          {
            label: 'Hand over to another agent…',
            icon: ArrowRightLeft,
            onSelect: later(() => sessionActions()?.handOff({})),
          },
        ]
      : []),
    ...change,
    { label: 'Plan', icon: ListChecks, onSelect: show('plan') },
    { label: 'Event log', icon: ScanText, onSelect: show('events') },
    { label: 'Export this session…', icon, entries: entries.map((entry) => ({ icon, ...entry })) },
    ...remove,
  ]
}

function later(work: () => void): () => void {
  return () => void setTimeout(work)
}
