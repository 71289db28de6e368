import { Archive, ArchiveRestore, Pin, PinOff, Trash2 } from 'lucide-react'
import { client } from '../base/client.ts'
import type { MenuEntry } from '../parts/menu-list.tsx'
import { toastError } from '../parts/toasts.tsx'
import { archive, unarchive } from './archiving.ts'
import { deleteWithUndo } from './deleting.ts'

type Kept = {
  readonly id: string
  readonly title: string
  readonly pinned: boolean
  readonly archived: boolean
}

/** The menu entries to pin, archive and delete a session. */
export function lifecycleEntries({ id, title, pinned, archived }: Kept, size = 14) {
  const patch = (body: { pinned: boolean }) => () =>
    void client.call('patchSession', { params: { id }, body }).catch(toastError)
  const pin: MenuEntry = pinned
    ? { label: 'Unpin', icon: <PinOff size={size} />, onSelect: patch({ pinned: false }) }
    : { label: 'Pin', icon: <Pin size={size} />, onSelect: patch({ pinned: true }) }
  const archiving: MenuEntry = archived
    ? { label: 'Unarchive', icon: <ArchiveRestore size={size} />, onSelect: () => unarchive({ id }) }
    : { label: 'Archive', icon: <Archive size={size} />, onSelect: () => archive({ id, title }) }
  const remove: MenuEntry = {
    label: 'Delete',
    icon: <Trash2 size={size} />,
    danger: true,
    onSelect: () => deleteWithUndo({ id, title }),
  }
  return { pin, archiving, remove }
}
