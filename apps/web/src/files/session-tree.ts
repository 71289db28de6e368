import { cached } from '../base/cached.ts'
import { client } from '../base/client.ts'
import { foldersAbove } from '../base/paths.logic.ts'
import { may } from '../base/self.ts'
import { createStore } from '../base/store.ts'
import { foldersConcerned } from './changed-paths.logic.ts'
import type { Level } from './tree.logic.ts'

type State = { readonly levels: ReadonlyMap<string, Level>; readonly opened: ReadonlySet<string> }

/** The tree of each session: the loaded entries and the open folders. It exists as long as the page. */
export const treeOf = cached((sessionId: string) => createTree(sessionId))

function createTree(sessionId: string) {
  const store = createStore<State>({ levels: new Map(), opened: new Set() })
  const loading = new Map<string, AbortController>()

  async function load(folder: string): Promise<void> {
    loading.get(folder)?.abort()
    const controller = new AbortController()
    loading.set(folder, controller)
    const { signal } = controller
    const query = { path: folder, ...(may('terminal') && { all: 'true' as const }) }
    try {
      const { entries, cut } = await client.call('readTree', { params: { id: sessionId }, query, signal })
      setLevel(folder, { entries, cut })
    } catch (error) {
      if (!signal.aborted) setLevel(folder, { ...store.get().levels.get(folder), error })
    }
  }

  function setLevel(folder: string, level: Level): void {
    store.set((state) => ({ ...state, levels: new Map(state.levels).set(folder, level) }))
  }

  function open(folder: string): void {
    if (store.get().opened.has(folder)) return
    store.set((state) => ({ ...state, opened: new Set(state.opened).add(folder) }))
    void load(folder)
  }

  function close(folder: string): void {
    store.set((state) => ({ ...state, opened: new Set([...state.opened].filter((one) => one !== folder)) }))
  }

  return {
    store,
    open,
    close,
    /** Opens all folders that contain a file. */
    reveal: (file: string) => foldersAbove(file).forEach(open),
    /** Reloads the shown folders whose entries may have changed; without paths, all shown folders. */
    refresh(paths?: readonly string[]): void {
      for (const folder of foldersConcerned(['', ...store.get().opened], paths)) void load(folder)
    },
  }
}
