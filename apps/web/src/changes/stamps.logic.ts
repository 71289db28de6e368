import type { FileChange } from '@parley/protocol'

/**
 * The stamp of each file: the number of times that the file may have changed since the panel opened. The patch of the
 * file is fetched again when the stamp grows.
 */
export type Stamps = ReadonlyMap<string, number>

type Update = {
  readonly before: readonly FileChange[]
  readonly after: readonly FileChange[]
  /** The changed files, or folders with everything in them. If undefined, any file may have changed. */
  readonly paths?: readonly string[] | undefined
}

export function stampsAfter(stamps: Stamps, { before, after, paths }: Update): Stamps {
  const touched = paths && new Set(paths)
  const known = new Map(before.map((file) => [file.path, file]))
  return new Map(
    after.map((file) => {
      const stamp = stamps.get(file.path) ?? 0
      const same = touched && !isIn(file.path, touched) && looksSame(known.get(file.path), file)
      return [file.path, same ? stamp : stamp + 1]
    }),
  )
}

function isIn(path: string, touched: ReadonlySet<string>): boolean {
  for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1))
    if (touched.has(path.slice(0, end))) return true
  return false
}

function looksSame(before: FileChange | undefined, after: FileChange): boolean {
  return before?.status === after.status && before.added === after.added && before.removed === after.removed
}
