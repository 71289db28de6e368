import type { ExportFormat, SessionSummary } from '@parley/protocol'
import { Archive, ArchiveRestore, Columns3, Download, FolderMinus, Pin, PinOff, Trash2 } from 'lucide-react'
import { client } from '../base/client.ts'
import { navigate } from '../base/route.ts'
import { may } from '../base/self.ts'
import type { MenuEntry } from '../parts/menu-list.tsx'
import { toast, toastError } from '../parts/toasts.tsx'
import { worktreeRemoval } from '../session-data/worktree-removal.ts'
import { deleteWithUndo } from './deleting.ts'

type Session = Pick<SessionSummary, 'id' | 'title' | 'pinned' | 'archived' | 'worktree'> & {
  readonly round?: { readonly id: string; readonly attempt: number } | undefined
}

/** The menu entries to pin, archive and delete a session, without those that the person may not use. */
export function lifecycleEntries({ id, title, pinned, archived, worktree, round }: Session): {
  readonly change: readonly MenuEntry[]
  readonly remove: readonly MenuEntry[]
} {
  const hasWorktree = worktree?.phase === 'ready' && worktree.of === undefined && may('decide')
  const pin: MenuEntry = pinned
    ? { label: 'Unpin', icon: PinOff, onSelect: () => update(id, { pinned: false }) }
    : { label: 'Pin', icon: Pin, onSelect: () => update(id, { pinned: true }) }
  const archive: MenuEntry = archived
    ? {
        label: 'Unarchive',
        icon: ArchiveRestore,
        onSelect: () => update(id, { archived: false }),
      }
    : { label: 'Archive', icon: Archive, onSelect: () => archiveWithUndo(id, title, hasWorktree) }
  const removal: MenuEntry = {
    label: 'Remove worktree…',
    icon: FolderMinus,
    onSelect: () => worktreeRemoval.set({ id, title }),
  }
  const compare: MenuEntry[] = round
    ? [
        {
          label: 'Compare the attempts',
          icon: Columns3,
          onSelect: () => navigate({ name: 'round', id: round.id, attempt: round.attempt }),
        },
      ]
    : []
  const remove: MenuEntry = {
    label: 'Delete',
    icon: Trash2,
    danger: true,
    onSelect: () => deleteWithUndo({ id, title }),
  }
  return {
    change: [...compare, ...(may('prompt') ? [pin, archive] : []), ...(hasWorktree ? [removal] : [])],
    remove: may('admin') ? [remove] : [],
  }
}

type Change = { readonly pinned?: boolean; readonly archived?: boolean }

function update(id: string, body: Change, done?: () => void): void {
  client.call('patchSession', { params: { id }, body }).then(done, toastError)
}

/**
 * Archives a session and shows a toast with an undo button, since the row disappears from the list. Offers to remove the
 * worktree, which is not used any more.
 */
function archiveWithUndo(id: string, title: string, hasWorktree: boolean): void {
  const undo = () => update(id, { archived: false })
  update(id, { archived: true }, () => {
    toast(`Archived “${title || 'Untitled'}”`, { action: { label: 'Undo', run: undo } })
    if (hasWorktree) worktreeRemoval.set({ id, title, archived: true })
  })
}

const formats: Record<ExportFormat, string> = {
  html: 'Web page (HTML)',
  markdown: 'Markdown',
  jsonl: 'Event log (JSONL)',
  'ui-messages': 'AI SDK UI messages (JSON)',
  'incoming-messages': 'Messages for IPC clients (JSON)',
  'run-events': 'Events of each run, for scripts (JSON)',
}

export function exportEntry(sessionId: string) {
  return {
    label: 'Export',
    icon: Download,
    entries: (Object.keys(formats) as ExportFormat[]).map((format) => ({
      label: formats[format],
      onSelect: () => void fetchExport(sessionId, format).catch(toastError),
    })),
  } satisfies MenuEntry
}

/** HTML opens in a new tab, the other formats are saved. The download address works once. */
async function fetchExport(sessionId: string, format: ExportFormat): Promise<void> {
  const { path } = await client.call('createDownload', { params: { id: sessionId }, body: { as: format } })
  const link = document.createElement('a')
  // Without the leading slash, the path is relative to the base of the page.
  link.href = path.slice(1)
  if (format === 'html') Object.assign(link, { target: '_blank', rel: 'noopener' })
  else link.download = ''
  link.click()
}
