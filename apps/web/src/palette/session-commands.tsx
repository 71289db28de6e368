import type { SessionSummary } from '@parley/protocol'
import { FileDiff, ListChecks, Pencil, ScanText, Search, SquareTerminal } from 'lucide-react'
import { type Preferences, prefer } from '../base/preferences.ts'
import type { MenuEntry } from '../parts/menu-list.tsx'
import { sessionDoings } from '../session-data/session-actions.ts'
import { exportEntry } from '../sessions/export-entry.tsx'
import { keepingEntries } from '../sessions/keeping-entries.tsx'

/** `keys`: the keyboard shortcut of the action. */
export type Doing = MenuEntry & { readonly keys?: readonly string[] }

/** The actions for the open session. */
export function doingsOf(session: SessionSummary): readonly Doing[] {
  const show = (sidePanel: Preferences['sidePanel']) => () => prefer({ sidePanel })
  const { pin, archiving, remove } = keepingEntries(session, 15)
  const { icon, entries = [] } = exportEntry(session.id)
  return [
    { label: 'Changes', icon: <FileDiff size={15} />, onSelect: show('changes') },
    { label: 'Terminals', icon: <SquareTerminal size={15} />, onSelect: show('terminal') },
    // Deferred until the palette has returned the focus.
    {
      label: 'Find in session',
      icon: <Search size={15} />,
      keys: ['Ctrl', 'F'],
      onSelect: later(() => sessionDoings()?.find()),
    },
    { label: 'Rename', icon: <Pencil size={15} />, onSelect: later(() => sessionDoings()?.rename()) },
    pin,
    archiving,
    { label: 'Plan', icon: <ListChecks size={15} />, onSelect: show('plan') },
    { label: 'Event log', icon: <ScanText size={15} />, onSelect: show('events') },
    { label: 'Export this session…', icon, entries: entries.map((entry) => ({ icon, ...entry })) },
    remove,
  ]
}

function later(work: () => void): () => void {
  return () => void setTimeout(work)
}
