import type { RewindPreview } from '@parley/protocol'
import { useEffect, useState } from 'react'
import { client } from '../base/client.ts'
import { abortable } from '../base/effects.ts'
import { errorText } from '../base/error-text.logic.ts'
import { plural, relativePath, visible } from '../base/format.logic.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { ScrollRegion } from '../parts/scroll-region.tsx'
import { toastError } from '../parts/toasts.tsx'
import { useSessionId, useSessionState } from '../session-data/session-context.tsx'

type Found = { readonly preview?: RewindPreview; readonly problem?: string }

/** Shows the files that a restore would change, and asks for confirmation. */
export default function RewindDialog({ promptId, onClose }: { promptId: string; onClose: () => void }) {
  const id = useSessionId()
  const folder = useSessionState((state) => state.cwd)
  const [{ preview, problem }, setFound] = useState<Found>({})
  useEffect(() => {
    return abortable((signal) =>
      client.call('previewRewind', { params: { id }, query: { promptId }, signal }).then(
        (found) => setFound({ preview: found }),
        (thrown) => signal.aborted || setFound({ problem: errorText(thrown) }),
      ),
    )
  }, [id, promptId])
  const files = preview?.files ?? []
  const restore = () => {
    onClose()
    void client.command(id, { type: 'session.rewind', promptId }).catch(toastError)
  }
  return (
    <Dialog label="Restore files" onClose={onClose} className="flex-col open:flex">
      <h2 className="px-4 pt-3.5 text-base font-semibold">
        Restore files to their state before this prompt?
      </h2>
      <div className="min-h-0 overflow-y-auto px-4 py-2 text-sm" aria-live="polite">
        {problem !== undefined && <p className="text-bad">{problem}</p>}
        {!preview && problem === undefined && <p className="text-soft">Looking for changed files…</p>}
        {preview && files.length === 0 && <p className="text-soft">No file has changed since this prompt.</p>}
        {files.length > 0 && (
          <>
            <p className="pb-1">{plural(files.length, 'file')} will change:</p>
            <ScrollRegion label="Files" className="max-h-60 overflow-y-auto rounded-md bg-sunk px-2.5 py-1.5">
              <ul className="text-xs leading-6 [overflow-wrap:anywhere]">
                {files.map((file) => (
                  <li key={file}>{visible(relativePath(file, folder))}</li>
                ))}
              </ul>
            </ScrollRegion>
          </>
        )}
        {files.length > 0 && (
          <ul className="list-disc pt-2 pl-5 text-soft">
            {preview?.notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
            <li>You can undo this until one of the files changes again.</li>
          </ul>
        )}
      </div>
      <div className="flex justify-end gap-2 px-4 pt-1 pb-3.5">
        <Button look="quiet" onClick={onClose}>
          {files.length > 0 ? 'Cancel' : 'Close'}
        </Button>
        {files.length > 0 && (
          <Button look="danger" onClick={restore}>
            Restore {plural(files.length, 'file')}
          </Button>
        )}
      </div>
    </Dialog>
  )
}
