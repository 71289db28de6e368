import type { SessionSummary } from '@parley/protocol'
import {
  Archive,
  ArchiveRestore,
  FileDiff,
  ListChecks,
  Pencil,
  Pin,
  PinOff,
  ScanText,
  Search,
  SquareTerminal,
  Trash2,
} from 'lucide-react'
import { client } from '../page/client.ts'
import { type Preferences, prefer } from '../page/preferences.ts'
import { sessionDoings } from '../page/session-doings.ts'
import { toastError } from '../page/toasts.tsx'
import type { MenuEntry } from '../parts/menu.tsx'
import { exportEntry } from '../session/export-entry.tsx'
import { archive, unarchive } from '../sessions/archiving.ts'
import { deleteWithUndo } from '../sessions/deleting.ts'

/** `keys`: those that do the same. */
export type Doing = MenuEntry & { readonly keys?: readonly string[] }

/** What can be done with the session that is open. */
export function doingsOf({ id, title, pinned, archived }: SessionSummary): readonly Doing[] {
  const show = (sidePanel: Preferences['sidePanel']) => () => prefer({ sidePanel })
  const patch = (body: { pinned: boolean }) => () =>
    void client.call('patchSession', { params: { id }, body }).catch(toastError)
  const { icon, entries = [] } = exportEntry(id)
  return [
    { label: 'Changes', icon: <FileDiff size={15} />, onSelect: show('changes') },
    { label: 'Terminals', icon: <SquareTerminal size={15} />, onSelect: show('terminal') },
    // After the palette has given the focus back.
    {
      label: 'Find in it',
      icon: <Search size={15} />,
      keys: ['Ctrl', 'F'],
      onSelect: later(() => sessionDoings()?.find()),
    },
    { label: 'Rename', icon: <Pencil size={15} />, onSelect: later(() => sessionDoings()?.rename()) },
    pinned
      ? { label: 'Unpin', icon: <PinOff size={15} />, onSelect: patch({ pinned: false }) }
      : { label: 'Pin', icon: <Pin size={15} />, onSelect: patch({ pinned: true }) },
    archived
      ? { label: 'Unarchive', icon: <ArchiveRestore size={15} />, onSelect: () => unarchive({ id }) }
      : { label: 'Archive', icon: <Archive size={15} />, onSelect: () => archive({ id, title }) },
    { label: 'Plan', icon: <ListChecks size={15} />, onSelect: show('plan') },
    { label: 'Events as recorded', icon: <ScanText size={15} />, onSelect: show('events') },
    { label: 'Export this session…', icon, entries: entries.map((entry) => ({ icon, ...entry })) },
    {
      label: 'Delete',
      icon: <Trash2 size={15} />,
      onSelect: () => deleteWithUndo({ id, title }),
    },
  ]
}

function later(work: () => void): () => void {
  return () => void setTimeout(work)
}
