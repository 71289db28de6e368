import { execFileSync } from 'node:child_process'
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { processMarks } from '@parley/adapter-kit/marked-processes'
import type { NewWorktree, ProjectSettings } from '@parley/protocol'
import { expect, onTestFinished } from 'vitest'
import { folderForTest } from '../testing/temporary-folder.ts'
import { createFolderChanges } from '../workspace/folder-changes.ts'
import { createProjectCommands } from '../workspace/project-commands.ts'
import { createSessionFolder } from '../workspace/session-folder.ts'
import { createWorktrees } from '../workspace/worktrees.ts'
import { type HostUnderTestOptions, hostUnderTest, type SessionUnderTest } from './host-under-test.ts'
import type { Worktrees } from './worktrees.ts'

export function git(folder: string, ...args: string[]): string {
  const who = ['-c', 'user.name=p', '-c', 'user.email=p@example.com']
  return execFileSync('git', [...who, ...args], { cwd: folder, encoding: 'utf8', stdio: 'pipe' }).trim()
}

export function write(folder: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

type Given = Pick<HostUnderTestOptions, 'limits'> & {
  readonly settings?: Partial<ProjectSettings>
  readonly freeBytes?: () => Promise<number>
  /** Changes the worktrees of the host, for example to hold an operation. */
  readonly wrap?: (worktrees: Worktrees) => Worktrees
}

/** A host with a repository of two commits, ignored files, and one change that is not committed. */
export async function tested({ settings = {}, freeBytes, wrap = (same) => same, ...options }: Given = {}) {
  const root = join(folderForTest(), 'worktrees')
  mkdirSync(root)
  const sessionFolder = createSessionFolder({ env: process.env, root: folderForTest() })
  const worktrees = wrap(
    createWorktrees({ env: process.env, root, marks: processMarks, ...(freeBytes && { freeBytes }) }),
  )
  const projectCommands = createProjectCommands({ env: process.env, marks: processMarks })
  const folderChanges = createFolderChanges({ env: process.env, folders: sessionFolder })
  const test = await hostUnderTest({ sessionFolder, folderChanges, worktrees, projectCommands, ...options })
  onTestFinished(() => test[Symbol.asyncDispose]())
  const repository = realpathSync(test.cwd)
  git(repository, 'init', '-q', '-b', 'main')
  write(repository, { 'a.txt': 'one\n', 'sub/b.txt': 'b\n', '.gitignore': '.env*\nnode_modules/\n*.key\n' })
  git(repository, 'add', '-A')
  git(repository, 'commit', '-qm', 'first')
  write(repository, { 'a.txt': 'edited\n', '.env': 'SECRET=1\n', 'node_modules/x/index.js': 'x\n' })
  const project = join(repository, '.git')
  const set = (fields: Partial<ProjectSettings>) =>
    test.store.setProjectSettings(
      Object.entries(fields).map(([field, value]) => ({
        project,
        field: field as 'setup',
        value: value as string,
        at: 0,
      })),
    )
  await set(settings)
  return {
    ...{ test, repository, root, set },
    create: (worktree: NewWorktree = {}, more: object = {}) => test.create({ worktree, ...more }),
  }
}

export const worktreeOf = async (session: SessionUnderTest) => (await session.state()).worktree

export async function reaches(session: SessionUnderTest, phase: string) {
  const seen = async () => {
    const { phase: now, failure } = (await worktreeOf(session)) ?? {}
    return now === phase ? phase : { now, failure }
  }
  await expect.poll(seen, { timeout: 20_000 }).toBe(phase)
  const worktree = await worktreeOf(session)
  if (!worktree) throw new Error('no worktree')
  return worktree
}

export const shell = (path: string, text = 'x\n') =>
  ({ type: 'tool', name: 'Bash', kind: 'execute', effect: { writeFile: { path, text } } }) as const
export const branches = (folder: string) => git(folder, 'branch', '--format=%(refname:short)').split('\n')
