import type { Diff } from '@parley/protocol'
import { DiffView } from './diff-view.tsx'

/** The diffs of several files, one below the other. */
export function DiffList({ diffs, folder }: { diffs: readonly Diff[]; folder: string }) {
  return (
    <div className="flex flex-col gap-2">
      {diffs.map((diff, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: one call may change a file twice
        <DiffView key={index} diff={diff} folder={folder} />
      ))}
    </div>
  )
}
