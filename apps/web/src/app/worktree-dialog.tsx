import type { SessionWorktree, WorktreeLoss } from '@parley/protocol'
import { useEffect, useState } from 'react'
import { client } from '../base/client.ts'
import { abortable } from '../base/effects.ts'
import { errorText } from '../base/error-text.logic.ts'
import { bytes as bytesText, plural, visible } from '../base/format.logic.ts'
import { Button } from '../parts/button.tsx'
import { toast, toastError } from '../parts/toasts.tsx'
import type { WorktreeRemoval } from '../session-data/worktree-removal.ts'

/** Lists what the removal of a worktree would delete, and removes the worktree when the person confirms. */
export default function WorktreeDialog({
  removal,
  onClose,
}: {
  removal: WorktreeRemoval
  onClose: () => void
}) {
  const { id, title, archived } = removal
  const { found, error } = useWorktree(id)
  const [deletes, setDeletes] = useState(false)
  const remove = () => {
    const branch = deletes ? ('delete' as const) : ('keep' as const)
    onClose()
    void removeWorktree(id, branch)
  }
  return (
    <div className="flex max-h-[85dvh] flex-col">
      <div className="min-h-0 overflow-y-auto px-5 pt-4 text-sm">
        <h2 className="text-base font-semibold">Remove the worktree?</h2>
        <p className="pt-1 text-soft">
          {archived ? `“${title || 'Untitled'}” was archived. ` : ''}
          The folder will be deleted. The session stays, and the worktree can be restored.
        </p>
        {error && <p className="pt-3 text-bad">{error}</p>}
        {found && <Facts found={found} />}
        {found && (
          <label className="mt-3 flex items-center gap-1.5 pointer-coarse:min-h-11">
            <input
              type="checkbox"
              checked={deletes}
              onChange={({ target }) => setDeletes(target.checked)}
              className="accent-mark-fill"
            />
            <span className="min-w-0">
              Delete the branch <span className="font-mono text-xs">{visible(found.worktree.branch)}</span>{' '}
              too
            </span>
          </label>
        )}
        {deletes && found?.loss && found.loss.commits > 0 && (
          <p className="pt-1 text-wait">
            {plural(found.loss.commits, 'commit')} {found.loss.commits === 1 ? 'is' : 'are'} on no other
            branch. Git usually deletes such commits after two weeks. After that, they cannot be restored.
          </p>
        )}
      </div>
      <div className="flex justify-end gap-2 px-5 py-4">
        <Button onClick={onClose}>{archived ? 'Keep' : 'Cancel'}</Button>
        <Button look="danger" disabled={!found} onClick={remove}>
          Remove worktree
        </Button>
      </div>
    </div>
  )
}

/** Removes a worktree, with a toast that says when the removal is done. */
async function removeWorktree(id: string, branch: 'keep' | 'delete'): Promise<void> {
  const restore = () => void client.command(id, { type: 'worktree.restore' }).catch(toastError)
  const say = (text: string) => toast(text, { action: { label: 'Restore', run: restore } })
  let dismiss: (() => void) | undefined
  let isDone = false
  const end = client.socket.onFrame((frame) => {
    if (frame.type !== 'session-changed' || frame.summary?.id !== id) return
    const phase = frame.summary.worktree?.phase
    // Before the command is accepted, the phase may be the one before the removal.
    if (phase !== 'removed' && (!dismiss || phase === 'removing')) return
    end()
    dismiss?.()
    isDone = true
    if (phase === 'removed') say('Removed the worktree.')
  })
  try {
    await client.command(id, { type: 'worktree.remove', branch })
    if (!isDone) dismiss = say('Removing the worktree.')
  } catch (thrown) {
    end()
    toastError(thrown)
  }
}

function Facts({ found: { bytes, loss, others, isThere } }: { found: SessionWorktree }) {
  if (!isThere) return <p className="pt-3">The folder no longer exists.</p>
  const kept = loss ? restorable(loss) : []
  return (
    <>
      {bytes !== undefined && <p className="pt-3">This frees {bytesText(bytes)}.</p>}
      {others.length > 0 && (
        <p className="pt-2 text-wait">
          {others.length === 1 ? 'Another session works' : `${others.length} other sessions work`} in this
          folder.
        </p>
      )}
      {kept.length > 0 && <List title="Saved, and restored with the worktree" items={kept} />}
      {loss && lost(loss).length > 0 && <List title="Deleted for good" items={lost(loss)} alarming />}
    </>
  )
}

function List({ title, items, alarming }: { title: string; items: readonly string[]; alarming?: boolean }) {
  return (
    <>
      <h3 className={`pt-3 font-medium ${alarming ? 'text-bad' : ''}`}>{title}</h3>
      <ul className="list-disc pl-5 [overflow-wrap:anywhere]">
        {items.map((item) => (
          <li key={item}>{item}</li>
        ))}
      </ul>
    </>
  )
}

function restorable({ changes, commits, loose }: WorktreeLoss): string[] {
  return [
    changes > 0 && `${plural(changes, 'file')} not committed`,
    commits + loose > 0 && `${plural(commits + loose, 'commit')} on no other branch`,
  ].filter((item) => item !== false)
}

const shownIgnored = 12

function lost({ ignored, leftOut }: WorktreeLoss): string[] {
  const more = ignored.length - shownIgnored
  return [
    ...leftOut.map(({ path, reason }) => `${visible(path)} (${reasons[reason] ?? reason})`),
    ...ignored.slice(0, shownIgnored).map((path) => `${visible(path)} (ignored)`),
    ...(more > 0 ? [`${more} more ignored files and folders`] : []),
  ]
}

const reasons: Readonly<Record<string, string>> = {
  large: 'over 10 MB',
  repository: 'a separate repository',
  unreadable: 'cannot be read',
}

function useWorktree(id: string) {
  const [state, setState] = useState<{ found?: SessionWorktree; error?: string }>({})
  useEffect(
    () =>
      abortable((signal) =>
        client.call('getWorktree', { params: { id }, signal }).then(
          (found) => signal.aborted || setState({ found }),
          (thrown: unknown) => signal.aborted || setState({ error: errorText(thrown) }),
        ),
      ),
    [id],
  )
  return state
}
