import { setTimeout as pause } from 'node:timers/promises'
import { type Changes, defined } from '@parley/protocol'
import type { Compared, Comparison } from './compare.ts'
import type { FolderFiles } from './files.ts'
import { checkFolder } from './folder.ts'
import type { FolderContents } from './folder-contents.ts'
import type { GitIn, SeenFolder } from './git.ts'
import type { ShadowedFolders } from './shadowed-folders.ts'
import type { FolderReader } from './watch-folder.ts'
import { createFolderWatches } from './watches.ts'

export type { Compared, Comparison } from './compare.ts'
export type { SeenFolder } from './git.ts'

/** The time limit for reading the facts of a folder. */
const factsMs = 2_000

export type Workspace = {
  /** Finds folders anywhere on the machine whose path starts with the typed text. */
  findFolders(typed: string, limit: number): Promise<string[]>
  findFiles(folder: string, query: string, limit: number): Promise<string[]>
  /** Like `findFiles`, for a typed folder path. Rejects if there is no such folder. */
  findFilesIn(typed: string, query: string, limit: number): Promise<string[]>
  /** Returns the checked-out commit of the folder; undefined if it cannot be determined. */
  commit(folder: string): Promise<string | undefined>
  tree: FolderContents['tree']
  file: FolderContents['file']
  /**
   * Returns the branch and the changed files of a folder, if they can be determined within a time limit. Never
   * rejects.
   */
  facts(folder: string): Promise<Partial<Pick<Changes, 'branch'> & { readonly changes: Changes['files'] }>>
  /** Rejects with `not_found` if a snapshot of the comparison is not stored. */
  changes(folder: SeenFolder, compared: Comparison): Promise<Compared>
  /** The tree of the folder as it is now, for a comparison with another folder of the project. */
  treeNow(folder: SeenFolder): Promise<string>
  patch(folder: SeenFolder, path: string, compared: Comparison): Promise<{ patch: string; cut: boolean }>
  /**
   * Reports changes of files that git does not ignore, and of the checked-out commit. Returns a function that ends
   * the watch.
   */
  watch(folder: SeenFolder, reader: FolderReader): () => void
}

export type WorkspaceOptions = {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Snapshots of folders. Without them, only commits can be compared. */
  readonly folders?: ShadowedFolders
}

/** Loads the code that runs git on first use, because a server does not need it at its start. */
function lazyGitIn(env: WorkspaceOptions['env']): GitIn {
  let loading: Promise<GitIn> | undefined
  const loaded = async (folder: SeenFolder) => {
    loading ??= import('./git.ts').then(({ createGitIn }) => createGitIn(env))
    return (await loading)(folder)
  }
  return (folder) => ({
    look: async (...given) => (await loaded(folder)).look(...given),
    change: async (...given) => (await loaded(folder)).change(...given),
    reach: async (...given) => (await loaded(folder)).reach(...given),
  })
}

export function createWorkspace({ env, folders }: WorkspaceOptions): Workspace {
  const gitIn = lazyGitIn(env)
  const watches = createFolderWatches(gitIn)
  let loading: Promise<FolderContents> | undefined
  let loadingFiles: Promise<FolderFiles> | undefined
  const files = () => {
    loadingFiles ??= import('./files.ts').then(({ createFolderFiles }) => createFolderFiles(gitIn))
    return loadingFiles
  }
  const contents = () => {
    loading ??= import('./folder-contents.ts').then(({ createFolderContents }) =>
      createFolderContents(gitIn, folders),
    )
    return loading
  }
  return {
    // The code is loaded on first use, because a server does not need it at its start.
    findFolders: async (typed, limit) => (await import('./folders.ts')).foldersLike(typed, limit),
    findFiles: async (folder, query, limit) => (await files()).find(folder, query, limit),
    findFilesIn: async (typed, query, limit) => (await files()).find(await checkFolder(typed), query, limit),
    tree: async (folders, asked) => (await contents()).tree(folders, asked),
    file: async (folders, asked) => (await contents()).file(folders, asked),
    commit: async (folder) =>
      (await import('./head.ts')).headOf(gitIn({ path: folder, trusted: false }).look),
    async facts(path) {
      const { changesOf } = await import('./changes.ts')
      const found = changesOf(gitIn({ path, trusted: false }).look, path)
      const late = pause(factsMs, undefined, { ref: false })
      const changes = await Promise.race([found.catch(() => undefined), late])
      if (!changes) return {}
      const { branch, files } = changes
      return { ...defined({ branch }), changes: files }
    },
    async changes(folder, compared) {
      const { compare } = await import('./compare.ts')
      return compare({ look: gitIn(folder).look, folders }, folder, compared)
    },
    async treeNow({ path }) {
      const { expectFolders } = await import('./compare.ts')
      return expectFolders(folders).now(path, async (_, { tree }) => tree)
    },
    async patch(folder, path, compared) {
      const { comparePath } = await import('./compare.ts')
      return comparePath({ look: gitIn(folder).look, folders }, folder, path, compared)
    },
    watch: watches.watch,
  }
}
