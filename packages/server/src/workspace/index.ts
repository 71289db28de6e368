import type { Changes } from '@parley/protocol'
import { changesOf, patchOf } from './changes.ts'
import { createFolderFiles } from './files.ts'
import { createGitIn } from './git.ts'

/** Looking at a folder that is not trusted runs nothing that lies in it. */
export type SeenFolder = { readonly path: string; readonly trusted: boolean }

/** What there is to see of a folder that a session works in. */
export type Workspace = {
  findFiles(folder: string, query: string, limit: number): Promise<string[]>
  changes(folder: SeenFolder, base: string): Promise<Changes>
  patch(folder: SeenFolder, path: string, base: string): Promise<{ patch: string; cut: boolean }>
}

export function createWorkspace({ env }: { env: Readonly<Record<string, string | undefined>> }): Workspace {
  const gitIn = createGitIn(env)
  const files = createFolderFiles(gitIn)
  return {
    findFiles: (folder, query, limit) => files.find(folder, query, limit),
    changes: async (folder, base) => changesOf(await gitIn(folder.path, folder.trusted), base),
    patch: async (folder, path, base) =>
      patchOf(await gitIn(folder.path, folder.trusted), folder.path, path, base),
  }
}
