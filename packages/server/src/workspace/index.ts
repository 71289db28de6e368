import type { Changes } from '@parley/protocol'
import { createFolderFiles } from './files.ts'
import { checkFolder } from './folder.ts'
import { foldersLike } from './folders.ts'
import { createGitIn, type Git } from './git.ts'
import type { FolderReader } from './watch-folder.ts'
import { createFolderWatches } from './watches.ts'

/** A folder to inspect. If it is not trusted, inspecting it runs no program from it. */
export type SeenFolder = { readonly path: string; readonly trusted: boolean }

export type Workspace = {
  /** Folders anywhere on the machine whose path starts with the typed text. */
  findFolders(typed: string, limit: number): Promise<string[]>
  findFiles(folder: string, query: string, limit: number): Promise<string[]>
  /** Like `findFiles`, for a typed folder path. Rejects if there is no such folder. */
  findFilesIn(typed: string, query: string, limit: number): Promise<string[]>
  /** The commit that is checked out in the folder; undefined if it cannot be determined. */
  commit(folder: string): Promise<string | undefined>
  changes(folder: SeenFolder, base: string): Promise<Changes>
  patch(folder: SeenFolder, path: string, base: string): Promise<{ patch: string; cut: boolean }>
  /** Reports changes of files that git does not ignore, and of the commit. Returns a function that ends the watch. */
  watch(folder: SeenFolder, reader: FolderReader): () => void
}

export function createWorkspace({ env }: { env: Readonly<Record<string, string | undefined>> }): Workspace {
  const gitIn = createGitIn(env)
  const files = createFolderFiles(gitIn)
  const watches = createFolderWatches(gitIn)
  return {
    findFolders: foldersLike,
    findFiles: (folder, query, limit) => files.find(folder, query, limit),
    findFilesIn: async (typed, query, limit) => files.find(await checkFolder(typed), query, limit),
    commit: async (folder) => headOf(await gitIn(folder, false)),
    // The code that computes changes is loaded on first use, because a server does not need it at its start.
    async changes({ path: folder, trusted }, base) {
      const { changesOf } = await import('./changes.ts')
      return changesOf(await gitIn(folder, trusted), folder, base)
    },
    async patch({ path: folder, trusted }, path, base) {
      const { patchOf } = await import('./changes.ts')
      return patchOf(await gitIn(folder, trusted), folder, path, base)
    },
    watch: watches.watch,
  }
}

/** The commit that is checked out in the folder. Undefined if there is no git, no repository, or no commit. */
async function headOf(git: Git): Promise<string | undefined> {
  const found = await git(['rev-parse', '--verify', '-q', 'HEAD^{commit}']).catch(() => undefined)
  return found?.code === 0 ? found.stdout.trim() : undefined
}
