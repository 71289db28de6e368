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
  const watches = new Map<string, Promise<FolderWatch>>()

  function end(key: string, watch: FolderWatch): void {
    if (!watch.isIdle) return
    watch.close()
    watches.delete(key)
  }

  return {
    watch({ path, trusted }, reader) {
      const key = `${trusted} ${path}`
      if (!watches.has(key) && watches.size >= limits.watches) {
        reader.watching({ whole: false })
        return () => {}
      }
      const watching =
        watches.get(key) ?? gitIn(path, trusted).then((git) => new FolderWatch(path, git, limits))
      watches.set(key, watching)
      let left = false
      watching
        .then((watch) => (left ? end(key, watch) : watch.join(reader)))
        .catch(() => {
          watches.delete(key)
          if (!left) reader.watching({ whole: false })
        })
      return () => {
        left = true
        void watching.then(
          (watch) => {
            watch.leave(reader)
            end(key, watch)
          },
          () => {},
        )
      }
    },
  }
}
