import type { Diff } from '@parley/protocol'
import { relativePath, visible } from '../../base/format.logic.ts'
import { Lazy, lazyPart } from '../lazy-part.tsx'
import { DiffCount } from './diff-count.tsx'

const reader = lazyPart(() => import('./file-figures.tsx'))

/** Fetches the diff renderer ahead of time, so that the first diff does not shift the layout. */
export const fetchDiffs = () => reader.fetch()

/** A diff in one column, file by file. Until the renderer is loaded, only the path is shown. */
export function DiffView({ diff, folder }: { diff: Diff; folder: string }) {
  const waiting = (
    <figure className="rounded-md border border-line bg-card">
      <figcaption className="px-2.5 py-1.5 text-xs">{visible(relativePath(diff.path, folder))}</figcaption>
    </figure>
  )
  return (
    <Lazy part={reader} waiting={waiting}>
      {({ FileFigures }) => <FileFigures diff={diff} folder={folder} />}
    </Lazy>
  )
}

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

/** The number of added and removed lines in several diffs. */
export function DiffsCount({ diffs }: { diffs: readonly Diff[] }) {
  if (diffs.length === 0) return null
  return (
    <Lazy part={reader}>
      {({ diffLines }) => {
        const lines = diffs.map((diff) => diffLines(diff))
        const sum = (side: 'added' | 'removed') => lines.reduce((total, one) => total + one[side], 0)
        const [added, removed] = [sum('added'), sum('removed')]
        return added > 0 || removed > 0 ? <DiffCount added={added} removed={removed} /> : null
      }}
    </Lazy>
  )
}
