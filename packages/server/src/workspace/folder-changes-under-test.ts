import { join } from 'node:path'
import type { CommandInput, FileChange, HunkRange, SeenChange } from '@parley/protocol'
import type { Asked, FolderCommand } from '../core/folder-changes.ts'
import { folderForTest } from '../testing/temporary-folder.ts'
import { createFolderChanges } from './folder-changes.ts'
import { git, write } from './hostile-repository-under-test.ts'
import { type Comparison, createWorkspace } from './index.ts'
import { hunksIn } from './lines.ts'
import { createSessionFolder } from './session-folder.ts'

export const sessionId = 'ses_1'

export function repository(files: Record<string, string>): string {
  const folder = folderForTest()
  git(folder, 'init', '-q', '-b', 'main', '--template=')
  write(folder, files)
  git(folder, 'add', '-A')
  git(folder, 'commit', '-qm', 'first')
  return folder
}

type Fields<Type extends FolderCommand['type']> = Omit<
  Extract<CommandInput, { type: Type }>,
  'type' | 'commandId'
>

/** The operations of people in a folder, with the real git. */
export function peopleIn(
  folder: string,
  {
    trusted = false,
    env = { PATH: process.env.PATH, HOME: '/nonexistent' } as NodeJS.ProcessEnv,
    root = join(folderForTest(), 'shadows'),
    base = undefined as string | undefined,
    madeFrom = undefined as string | undefined,
  } = {},
) {
  const folders = createSessionFolder({ env, root })
  const workspace = createWorkspace({ env, folders })
  const changes = createFolderChanges({ env, folders })
  const seen = { path: folder, trusted }
  let commands = 0
  const asked = <Type extends FolderCommand['type']>(type: Type, fields: Fields<Type>, commandId?: string) =>
    ({
      ...{ sessionId, base, madeFrom },
      command: { type, commandId: commandId ?? `cmd_${commands++}`, ...fields },
      trusts: () => trusted,
      signal: new AbortController().signal,
    }) as unknown as Asked<Type>
  const list = async (compared: Comparison = 'HEAD') => (await workspace.changes(seen, compared)).files
  return {
    ...{ folders, changes, asked, list },
    take: async () => (await folders.snapshot(folder, { sessionId })).tree,
    /** Returns the file with its present content, as a person sees it. */
    async see(path: string, compared?: Comparison): Promise<SeenChange> {
      const found = (await list(compared)).find((file) => file.path === path)
      if (!found) throw new Error(`${path} has not changed.`)
      return seenFile(found)
    },
    async hunks(path: string, compared: Comparison = 'HEAD'): Promise<HunkRange[]> {
      return hunksIn((await workspace.patch(seen, path, compared)).patch)
    },
    discard: (files: readonly SeenChange[], base = 'HEAD', commandId?: string) =>
      changes.discard(folder, asked('changes.discard', { base, files: [...files] }, commandId)),
    stage: (files: readonly SeenChange[]) =>
      changes.stage(folder, asked('changes.stage', { files: [...files] })),
    unstage: (files: readonly SeenChange[]) =>
      changes.stage(folder, asked('changes.unstage', { files: [...files] })),
    commit: (fields: Fields<'changes.commit'>, commandId?: string) =>
      changes.commit(folder, asked('changes.commit', fields, commandId)),
    push: (fields: Fields<'branch.push'>) => changes.push(folder, asked('branch.push', fields)),
    previewMerge: () => changes.previewMerge(folder, asked('branch.push', { branch: '', commit: '' })),
    merge: (fields: Fields<'branch.merge'>, commandId?: string) =>
      changes.merge(folder, asked('branch.merge', fields, commandId)),
    fill: () => changes.fillSubmodules(folder, asked('worktree.fill', {})),
    openRequest: (fields: Fields<'pull-request.open'>) =>
      changes.openPullRequest(folder, asked('pull-request.open', fields)),
    branch: () => changes.branch(folder, asked('branch.push', { branch: '', commit: '' })),
    logs: () => changes.checkLogs(folder, asked('branch.push', { branch: '', commit: '' })),
    request: () => changes.pullRequest(folder, asked('branch.push', { branch: '', commit: '' })),
    restore: (discarded: Awaited<ReturnType<typeof changes.discard>>) =>
      changes.restore(folder, { ...asked('changes.restore', { discarded: 1 }), discarded }),
  }
}

/** The environment of a person with a git identity, and with these programs on the PATH. */
export function person(programs?: string): NodeJS.ProcessEnv {
  const home = folderForTest()
  write(home, { '.gitconfig': '[user]\n\tname = Ada\n\temail = ada@example.com\n' })
  return { PATH: [programs, process.env.PATH].filter(Boolean).join(':'), HOME: home }
}

export function seenFile({ path, from, blob = '' }: FileChange): SeenChange {
  return { path, blob, ...(from !== undefined && { from }) }
}
