import type { FileContent } from '@parley/protocol'
import { useEffect, useEffectEvent, useState } from 'react'
import { client, useConnection } from '../base/client.ts'
import { useMay } from '../base/self.ts'
import { useFolderWatch } from '../session-data/watch-folder.ts'
import { mayConcern } from './changed-paths.logic.ts'

export type Wanted = { readonly sessionId: string; readonly path: string; readonly rev?: string | undefined }
export type ShownFile = {
  readonly file?: FileContent
  /** The reason why the file cannot be read now. A file that was read before remains. */
  readonly error?: unknown
}

/** A file in its present state or in a version. The present state is read again when the file changes. */
export function useFile({ sessionId, path, rev }: Wanted): ShownFile & { readonly refresh: () => void } {
  const [shown, setShown] = useState<ShownFile & { readonly of?: string }>({})
  const [round, setRound] = useState(0)
  const all = useMay('terminal')
  const online = useConnection().state === 'open'
  const of = JSON.stringify([sessionId, path, rev])
  const refresh = useEffectEvent(() => setRound((before) => before + 1))
  // biome-ignore lint/correctness/useExhaustiveDependencies: each round reads the file again
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    const query = { path, ...(rev !== undefined && { rev }), ...(all && { all: 'true' as const }) }
    client.call('readFile', { params: { id: sessionId }, query, signal }).then(
      (file) => setShown((before) => ({ of, file: sameContent(before.file, file) ? before.file : file })),
      (thrown) => {
        if (signal.aborted) return
        setShown((before) => ({
          of,
          error: thrown,
          ...(before.of === of && before.file && { file: before.file }),
        }))
      },
    )
    return () => controller.abort()
  }, [sessionId, path, rev, all, online, round])
  useFolderWatch(sessionId, (paths) => {
    if (rev === undefined && mayConcern(shown.file?.path ?? path, paths)) refresh()
  })
  return { ...(shown.of === of && shown), refresh: () => setRound(round + 1) }
}

/** True if nothing changed, so that nothing has to be rendered. */
function sameContent(before: FileContent | undefined, after: FileContent): before is FileContent {
  if (before?.type !== after.type || before.path !== after.path || before.size !== after.size) return false
  if (before.type === 'text' && after.type === 'text') return before.text === after.text
  if (before.type === 'image' && after.type === 'image') return before.data === after.data
  return true
}
