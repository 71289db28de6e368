import type { FileChange } from '@parley/protocol'
import { useEffect, useState } from 'react'
import { visible } from '../base/format.logic.ts'
import { useStore } from '../base/store.ts'
import { useSessionId } from '../session-data/session-context.tsx'
import { jumpTo, requestedFiles } from '../session-data/shown-changes.ts'

/** Jumps to the first of the requested files, and names those that have no changes. */
export function RequestedFiles({ files }: { files: readonly FileChange[] }) {
  const sessionId = useSessionId()
  const asked = useStore(requestedFiles)
  const [paths, setPaths] = useState<readonly string[]>([])
  const isHere = (path: string) => files.some((file) => file.path === path)
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each request, not for each new list
  useEffect(() => {
    if (!asked) return
    requestedFiles.set(undefined)
    if (asked.sessionId !== sessionId) return
    setPaths(asked.paths)
    const first = asked.paths.find(isHere)
    if (first !== undefined) jumpTo(first)
  }, [asked])
  const missing = paths.filter((path) => !isHere(path))
  if (missing.length === 0) return null
  return (
    <p role="status" className="border-b border-line px-4 py-2 text-sm text-soft [overflow-wrap:anywhere]">
      Not among these changes: <span className="font-mono text-xs">{missing.map(visible).join(', ')}</span>.
      Perhaps undone, committed, or ignored by git.
    </p>
  )
}
