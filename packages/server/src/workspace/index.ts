import type { Changes } from '@parley/protocol'
import { changesOf, patchOf } from './changes.ts'
import { createFolderFiles } from './files.ts'
import { createGit } from './git.ts'

/** What there is to see of a folder that a session works in. */
export type Workspace = {
  findFiles(folder: string, query: string, limit: number): Promise<string[]>
  changes(folder: string, base: string): Promise<Changes>
  patch(folder: string, path: string, base: string): Promise<{ patch: string; cut: boolean }>
}

export function createWorkspace({ env }: { env: Readonly<Record<string, string | undefined>> }): Workspace {
  const git = createGit(env)
  const files = createFolderFiles(git)
  return {
    findFiles: (folder, query, limit) => files.find(folder, query, limit),
    changes: (folder, base) => changesOf(git, folder, base),
    patch: (folder, path, base) => patchOf(git, folder, path, base),
  }
}
