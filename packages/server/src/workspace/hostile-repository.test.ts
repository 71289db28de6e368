import { appendFileSync, existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { ParleyError } from '@parley/protocol'
import { afterAll, describe, expect, it } from 'vitest'
import { projectOf } from './folder.ts'
import { peopleIn } from './folder-changes-under-test.ts'
import { createGitIn } from './git.ts'
import {
  hookCases,
  hostileCases,
  hostileSettings,
  inGroups,
  plainVariables,
  setUpEverything,
  variablesTogether,
} from './hostile-cases-under-test.ts'
import { layouts } from './hostile-layouts-under-test.ts'
import {
  createHostileFolder,
  git,
  type HostileCase,
  plainGitRuns,
  programLikeKeys,
  ran,
  removeModel,
  write,
} from './hostile-repository-under-test.ts'
import { harmlessKeys, hostileKeys } from './hostile-settings-under-test.ts'
import { createWorkspace } from './index.ts'
import { restoreTo } from './restore-under-test.ts'
import { createSessionFolder } from './session-folder.ts'
import { createWorktrees } from './worktrees.ts'

afterAll(removeModel)

/** Calls every function of the workspace in an untrusted folder. A refusal is an accepted result. */
async function lookAt(path: string, env: Record<string, string | undefined>): Promise<string[]> {
  const workspace = createWorkspace({ env })
  const folder = { path, trusted: false }
  const changes = await workspace.changes(folder, 'HEAD').catch(() => undefined)
  await Promise.allSettled([
    workspace.findFolders(`${path}/`, 10),
    workspace.findFiles(path, 'a', 10),
    workspace.findFilesIn(path, 'a', 10),
    workspace.commit(path),
    ...[true, false].flatMap((all) => [
      workspace.tree([path], { path: '', all }),
      workspace.file([path], { path: 'a.txt', all }),
    ]),
    workspace.patch(folder, 'a.txt', 'HEAD'),
    workspace.patch(folder, 'new.txt', 'HEAD'),
    new Promise<void>((resolve) => {
      const leave = workspace.watch(folder, {
        watching: () => {
          leave()
          resolve()
        },
        changed: () => {},
      })
    }),
  ])
  return changes?.files.map(({ path }) => path) ?? []
}

/** Makes every kind of change in an untrusted folder, and tries to reach other machines. */
async function changeThings(path: string, root: string, env: Record<string, string | undefined>) {
  const { look, change, reach } = createGitIn(env)({ path, trusted: false })
  const place = join(root, 'added')
  const patch = '--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-edit\n+patched\n'
  await change(['apply'], { input: patch })
  await look(['diff-files', '--name-only'])
  await look(['log', '-p', '-2'])
  await change(['update-index', '--add', '--remove', '-z', '--stdin'], { input: staged })
  await change(['write-tree'])
  await change(['commit', '-m', 'changed'], { env: by })
  await change(['merge-tree', '--write-tree', 'HEAD', 'side'])
  await change(['branch', 'made', 'HEAD'])
  await change(['update-ref', 'refs/heads/made', 'side'])
  await change(['checkout', '-q', 'side', '--', 'a.txt'])
  await change(['restore', '--source=HEAD~1', '--staged', '--worktree', '--', 'a.txt'])
  await change(['worktree', 'add', '--no-checkout', '-b', 'added', place, 'HEAD'])
  const added = createGitIn(env)({ path: place, trusted: false })
  await added.change(['reset', '--hard'])
  await added.look(['diff', 'HEAD~1'])
  await change(['worktree', 'lock', place])
  await change(['worktree', 'unlock', place])
  await change(['worktree', 'remove', '--force', place])
  await change(['read-tree', '-m', '-u', 'HEAD', 'side'])
  await change(['checkout', '-f', 'side'])
  await change(['reset', '--hard', 'HEAD~1'])
  for (const args of [
    ['fetch', 'evil'],
    ['push', 'evil'],
    ['submodule', 'update'],
    ['gh', 'pr'],
  ] as const)
    await expect(reach(args)).rejects.toMatchObject({ code: 'forbidden' })
}

const staged = ['.gitattributes', 'a.txt', 'new.txt', 'inner', 'sub', 'other', ''].join('\0')

const by = {
  GIT_AUTHOR_NAME: 'p',
  GIT_AUTHOR_EMAIL: 'p@example.com',
  GIT_COMMITTER_NAME: 'p',
  GIT_COMMITTER_EMAIL: 'p@example.com',
}

const named = (cases: readonly HostileCase[]) => cases.map((one) => [one.name, one] as const)
/**
 * The cases for commands that change something. Git gets all settings and filters in the same way for every command,
 * so they are one case. The variables and a program named git in PATH are another one.
 */
const others = [
  ...named(hostileCases).filter(([name]) => !/^(a filter named|a program named|settings in) /.test(name)),
  ['all variables, and a program named git in PATH', variablesTogether] as const,
]

/** Takes snapshots of the folder, compares them and restores a path. Returns the paths that have changed. */
async function snapshotThings(path: string, root: string, env: Record<string, string | undefined>) {
  const folders = createSessionFolder({ env, root: join(root, 'shadows') })
  const { changes, patch } = createWorkspace({ env, folders })
  const folder = { path, trusted: false }
  const { tree } = await folders.snapshot(path, { sessionId: 'ses_1' })
  write(path, { 'a.txt': 'since\n', 'since.txt': 'since\n' })
  const { files } = await changes(folder, { with: 'snapshot', from: tree })
  await patch(folder, 'a.txt', { with: 'snapshot', from: tree, all: true })
  await patch(folder, 'a.txt', 'HEAD').catch(() => undefined)
  await changes(folder, { with: 'base' }).catch(() => undefined)
  await restoreTo(folders, path, { tree, paths: ['a.txt', 'since.txt'] })
  await folders.share(path, 'ses_1', 'ses_2')
  await folders.forget(path, 'ses_1')
  return files.map((file) => file.path)
}

/** Discards, stages and commits changes, completely and in part. Returns false if this was refused. */
async function writeThings(path: string, env: Record<string, string | undefined>): Promise<boolean> {
  write(path, { 'a.txt': 'since\n', 'since.md': 'since\n' })
  appendFileSync(join(env.HOME ?? '', '.gitconfig'), '[user]\n\tname = p\n\temail = p@example.com\n')
  const { list, see, hunks, discard, restore, ...people } = peopleIn(path, { env })
  if ((await list().catch(() => [])).length === 0) return false
  await restore(await discard([await see('since.md')]))
  const refused = (error: unknown) => expect(error).toMatchObject({ code: 'not_supported' })
  // The discard is refused if the repository has a filter for its text files.
  await discard([await see('a.txt')]).catch(refused)
  write(path, { 'a.txt': 'again\n' })
  const part = { ...(await see('a.txt')), hunks: await hunks('a.txt') }
  await discard([part]).catch(refused)
  write(path, { 'a.txt': 'once more\n' })
  await people.stage([await see('a.txt')]).catch(refused)
  await people.stage([await see('since.md')])
  const [hunk] = await hunks('since.md', { with: 'staged' })
  const staged = await see('since.md', { with: 'staged' })
  await people.unstage([{ ...staged, ...(hunk && { hunks: [hunk] }) }])
  await people.commit({ message: 'since', files: [await see('since.md')] })
  return git(path, 'log', '-1', '--format=%s').trim() === 'since'
}

/** Commits in a worktree and in the folder, and merges the worktree into the folder. Returns false if this was refused. */
async function mergeThings(path: string, root: string, env: Record<string, string | undefined>) {
  const worktrees = createWorktrees({ env, root: join(root, 'merged') })
  const { project } = await projectOf(path)
  try {
    const asked = { project, sessionId: 'ses_1', words: 'x', wanted: { copy: [] } }
    const { worktree } = await worktrees.plan(path, asked)
    await worktrees.make(worktree, { trusted: false, signal: new AbortController().signal })
    for (const [folder, name] of [
      [worktree.path, 'branch.md'],
      [path, 'main.md'],
    ] as const) {
      write(folder, { [name]: 'since\n' })
      const { see, commit } = peopleIn(folder, { env })
      await commit({ message: name, files: [await see(name)] })
    }
    const { previewMerge, merge } = peopleIn(worktree.path, { env })
    const { branch = '', commit = '', into } = await previewMerge()
    await merge({ branch, commit, into: into?.branch ?? '', onto: into?.commit ?? '', folder: into?.folder })
    return existsSync(join(path, 'branch.md'))
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(ParleyError)
    return false
  }
}

describe('discarding, staging, committing and merging changes of an untrusted folder runs no program of the folder', () => {
  it.each(layouts.map((one) => [one.name, one] as const))(
    '%s',
    async (_, { setUp, env, unreadable = false }: HostileCase) => {
      using place = createHostileFolder(setUp)
      const given = { PATH: process.env.PATH, HOME: place.root, ...env?.(place) }
      const isDone = await writeThings(place.folder, given)
      if (!unreadable && place.folder.endsWith('/repository')) expect(isDone).toBe(true)
      await mergeThings(place.folder, place.root, given)
      expect(ran(place)).toBe(false)
    },
  )

  it('with all settings, filters and hooks', async () => {
    using place = createHostileFolder(setUpEverything)
    const env = { PATH: process.env.PATH, HOME: place.root }
    await writeThings(place.folder, env)
    expect(await mergeThings(place.folder, place.root, env)).toBe(true)
    expect(ran(place)).toBe(false)
  })
})

/** Makes, examines, removes and restores a worktree. A refusal is an accepted result. */
async function useWorktree(path: string, root: string, env: Record<string, string | undefined>) {
  const place = join(root, 'worktrees')
  const worktrees = createWorktrees({ env, root: place })
  const folders = createSessionFolder({ env, root: join(root, 'shadows') })
  const { signal } = new AbortController()
  const { project } = await projectOf(path)
  const wanted = { copy: ['*.txt', 'inner', '!x'] }
  try {
    await worktrees.offer(path, wanted)
    const { worktree } = await worktrees.plan(path, { project, sessionId: 'ses_1', words: 'x', wanted })
    const { head } = await worktrees.make(worktree, { trusted: false, signal })
    write(worktree.path, { 'a.txt': 'since\n', 'since.txt': 'since\n' })
    const { tree } = await folders.snapshot(worktree.path, { sessionId: 'ses_1' })
    await worktrees.examine(worktree)
    await worktrees.remove(worktree, { branch: 'keep', head })
    await worktrees.make(worktree, { trusted: false, signal, head, branch: 'keep' })
    await folders.restore(worktree.path, { sessionId: 'ses_1', tree })
    const { loss } = await worktrees.examine(worktree)
    await worktrees.remove(worktree, { branch: 'delete', head })
    return { loss, left: readdirSync(place) }
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(ParleyError)
    return undefined
  }
}

describe('taking and restoring snapshots of an untrusted folder runs no program of the folder', () => {
  it.each(others)('%s', async (_, { setUp, env }: HostileCase) => {
    using place = createHostileFolder(setUp)
    const given = { PATH: process.env.PATH, HOME: place.root, ...env?.(place) }
    const changed = await snapshotThings(place.folder, place.root, given)
    expect(ran(place)).toBe(false)
    expect(changed).toEqual(['a.txt', 'since.txt'])
  })

  it('with all settings, filters and hooks', async () => {
    using place = createHostileFolder(setUpEverything)
    await snapshotThings(place.folder, place.root, { PATH: process.env.PATH, HOME: place.root })
    expect(ran(place)).toBe(false)
  })
})

describe('inspecting an untrusted folder runs no program of the folder', () => {
  const inspected = [...inGroups(hostileSettings, 8), ...inGroups(plainVariables, 8), ...hostileCases]
  it.each(named(inspected))('%s', async (_, { setUp, env, proof, unreadable = false }: HostileCase) => {
    using place = createHostileFolder(setUp)
    const given = env?.(place) ?? {}
    const files = await lookAt(place.folder, { PATH: process.env.PATH, HOME: place.root, ...given })
    expect(ran(place)).toBe(false)
    if (!unreadable && place.folder.endsWith('/repository')) expect(files).toContain('a.txt')
    if (proof !== undefined) expect(plainGitRuns(place, proof, given), 'plain git runs it').toBe(true)
  })
})

describe('changing an untrusted folder runs no program of the folder', () => {
  it.each(others)('%s', async (_, { setUp, env }: HostileCase) => {
    using place = createHostileFolder(setUp)
    const given = { PATH: process.env.PATH, HOME: place.root, ...env?.(place) }
    await changeThings(place.folder, place.root, given)
    expect(ran(place)).toBe(false)
  })

  it.each(others)('also when a worktree of it is made, with %s', async (_, { setUp, env }: HostileCase) => {
    using place = createHostileFolder(setUp)
    const given = { PATH: process.env.PATH, HOME: place.root, ...env?.(place) }
    await useWorktree(place.folder, place.root, given)
    expect(ran(place)).toBe(false)
  })

  it('with all settings and hooks, and makes the changes', async () => {
    using place = createHostileFolder(setUpEverything)
    await changeThings(place.folder, place.root, { PATH: process.env.PATH, HOME: place.root })
    expect(ran(place)).toBe(false)
    const { look } = createGitIn({ PATH: process.env.PATH })({ path: place.folder, trusted: false })
    expect((await look(['log', '--format=%s', 'main'])).stdout).toContain('changed')
    expect(await look(['rev-parse', '--verify', 'made'])).toMatchObject({ code: 0 })
  })

  it('also when a worktree of it is made, with all settings and hooks; the worktree is made, removed and restored', async () => {
    using place = createHostileFolder(setUpEverything)
    const used = await useWorktree(place.folder, place.root, { PATH: process.env.PATH, HOME: place.root })
    expect(ran(place)).toBe(false)
    expect(used).toMatchObject({ loss: { changes: 2 }, left: [] })
  })

  it('refuses commands that start git in other repositories, or that read files with the configuration', async () => {
    using place = createHostileFolder(setUpEverything)
    const { change } = createGitIn({ PATH: process.env.PATH })({ path: place.folder, trusted: false })
    const refused = [
      ['add', '-A'],
      ['rm', 'a.txt'],
      ['merge', 'side'],
      ['commit', '-qam', 'x'],
      ['commit', '--all'],
      ['worktree', 'add', '../x'],
      ['worktree', 'remove', '../x'],
    ] as const
    for (const args of refused) await expect(change(args)).rejects.toMatchObject({ code: 'internal_error' })
  })
})

describe('the cases are complete', () => {
  it.each(named([...hostileSettings, ...plainVariables]))(
    'plain git runs the program of %s',
    (_, { setUp, env, proof = '' }) => {
      using place = createHostileFolder(setUp)
      expect(plainGitRuns(place, proof, env?.(place))).toBe(true)
    },
  )

  it.each(hookCases)('plain git runs the hook $name', ({ setUp, proof }) => {
    using place = createHostileFolder(setUp)
    expect(plainGitRuns(place, proof)).toBe(true)
  })

  it('the list of settings covers every key of the installed git that names a program', () => {
    const known = hostileKeys.map(({ key }) => key.toLowerCase().replace(/\.(.+)\./, '.*.'))
    const missing = programLikeKeys().filter((key) => {
      const plain = key
        .toLowerCase()
        .replace(/\.(.+)\./, '.*.')
        .replace(/<[^>]+>|\*$/, '*')
      return (
        !harmlessKeys.has(key) &&
        !known.some((one) => one === plain || (plain.endsWith('.*') && one.startsWith(plain.slice(0, -1))))
      )
    })
    expect(missing).toEqual([])
  })
})
