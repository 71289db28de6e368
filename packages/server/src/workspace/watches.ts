import type { GitIn } from './git.ts'
import { type FolderReader, FolderWatch, type WatchLimits } from './watch-folder.ts'

export type FolderWatches = {
  /** Tells the reader until it leaves by what is given back. Several readers of a folder share one watch. */
  watch(folder: { path: string; trusted: boolean }, reader: FolderReader): () => void
}

const usualLimits = { folders: 2_000, watches: 16 }

/** The folders that somebody looks at, and only as long as somebody does. */
export function createFolderWatches(
  gitIn: GitIn,
  limits: WatchLimits & { readonly watches: number } = usualLimits,
): FolderWatches {
  const watches = new Map<string, { readonly made: Promise<FolderWatch>; readers: number }>()

  function leave(key: string): void {
    const shared = watches.get(key)
    if (!shared || --shared.readers > 0) return
    watches.delete(key)
    void shared.made.then(
      (watch) => watch.close(),
      () => {},
    )
  }

  return {
    watch({ path, trusted }, reader) {
      const key = `${trusted} ${path}`
      if (!watches.has(key) && watches.size >= limits.watches) {
        reader.watching({ whole: false })
        return () => {}
      }
      const shared = watches.get(key) ?? {
        made: gitIn(path, trusted).then((git) => new FolderWatch(path, git, limits)),
        readers: 0,
      }
      // Counted at once: whoever comes while another leaves must not be given a watch that is about to end.
      shared.readers++
      watches.set(key, shared)
      let left = false
      shared.made.then(
        (watch) => left || watch.join(reader),
        () => left || reader.watching({ whole: false }),
      )
      return () => {
        if (left) return
        left = true
        void shared.made.then(
          (watch) => watch.leave(reader),
          () => {},
        )
        leave(key)
      }
    },
  }
}
