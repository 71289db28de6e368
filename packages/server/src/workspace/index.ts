import type { Changes } from '@parley/protocol'
import { changesOf, headOf, patchOf } from './changes.ts'
import { createFolderFiles } from './files.ts'
import { checkFolder } from './folder.ts'
import { foldersLike } from './folders.ts'
import { createGitIn } from './git.ts'
import type { FolderReader } from './watch-folder.ts'
import { createFolderWatches } from './watches.ts'

/** Looking at a folder that is not trusted runs nothing that lies in it. */
export type SeenFolder = { readonly path: string; readonly trusted: boolean }

/** What there is to see of a folder that a session works in. */
export type Workspace = {
  /** Folders whose path begins as was typed, of the whole machine. */
  findFolders(typed: string, limit: number): Promise<string[]>
  findFiles(folder: string, query: string, limit: number): Promise<string[]>
  /** The same of a folder as somebody typed it. Rejects where there is none. */
  findFilesIn(typed: string, query: string, limit: number): Promise<string[]>
  /** Where the folder stands in git; undefined where that cannot be told. */
  commit(folder: string): Promise<string | undefined>
  changes(folder: SeenFolder, base: string): Promise<Changes>
  patch(folder: SeenFolder, path: string, base: string): Promise<{ patch: string; cut: boolean }>
  /** Tells when files of the folder change that git does not ignore, or its commit. Call what it gives back to end it. */
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
    changes: async (folder, base) => changesOf(await gitIn(folder.path, folder.trusted), folder.path, base),
    patch: async (folder, path, base) =>
      patchOf(await gitIn(folder.path, folder.trusted), folder.path, path, base),
    watch: watches.watch,
  }
}
