import { plural, relativePath } from '../base/format.logic.ts'
import { useSessionId, useSessionState } from '../session-data/session-context.tsx'
import { openChanges } from '../session-data/shown-changes.ts'

type Props = {
  turnId: string | undefined
  /** The files that calls report as changed. */
  files: readonly string[]
  folder: string
  /** Whether the button names the first files. */
  names?: boolean
}

/** A button that shows the changes of a turn. A turn without changes has no button. */
export function ChangedFiles({ turnId, files, folder, names = false }: Props) {
  const sessionId = useSessionId()
  const hasOthers = useDiffers(turnId)
  if (files.length === 0 && !hasOthers) return null
  const paths = files.map((file) => relativePath(file, folder))
  return (
    <button
      type="button"
      className="min-w-0 truncate rounded text-left hover:text-ink hover:underline pointer-coarse:min-h-11"
      title={['Show the changes', ...files].join('\n')}
      onClick={() => openChanges(sessionId, { scope: 'turn', ...(turnId && { turnId }), paths })}
    >
      {files.length === 0 ? 'Files changed' : `${plural(files.length, 'file')} changed`}
      {names && files.length > 0 && `: ${paths.slice(0, 3).join(', ')}${files.length > 3 ? '…' : ''}`}
    </button>
  )
}

/** Whether the snapshots before and after a turn differ. A command can change files that no call reports. */
function useDiffers(turnId: string | undefined): boolean {
  return useSessionState(({ snapshots }) => {
    const turn = turnId === undefined ? undefined : snapshots?.turns.find((one) => one.turnId === turnId)
    return turn?.before !== undefined && turn.after !== undefined && turn.before.tree !== turn.after.tree
  })
}
