import type { GitIn, SeenFolder } from './git.ts'
import type { FolderReader, FolderWatch, WatchLimits } from './watch-folder.ts'

const usualLimits = { folders: 2_000, ignored: 20_000, watches: 16 }

/** Watches each folder as long as it has readers. */
export function createFolderWatches(
  gitIn: GitIn,
  limits: WatchLimits & { readonly watches: number } = usualLimits,
) {
  const watches = new Map<string, { readonly made: Promise<FolderWatch>; readers: number }>()

  /** Loads the code when a folder is first watched: few servers need it at their start. */
  async function watchFolder(folder: SeenFolder): Promise<FolderWatch> {
    const { FolderWatch } = await import('./watch-folder.ts')
    return new FolderWatch(folder.path, gitIn(folder).look, limits)
  }

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
    /** Reports changes to the reader until the returned function is called. Several readers of a folder share one watch. */
    watch({ path, trusted }: SeenFolder, reader: FolderReader): () => void {
      const key = `${trusted} ${path}`
      if (!watches.has(key) && watches.size >= limits.watches) {
        reader.watching({ whole: false })
        return () => {}
      }
      const shared = watches.get(key) ?? {
        made: watchFolder({ path, trusted }),
        readers: 0,
      }
      // The reader is counted at once, because a reader that joins while another leaves must not get a watch that is
      // about to end.
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
