import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { folderForFile, folderForTest } from '../testing/temporary-folder.ts'
import { createGitIn } from './git.ts'
import { git, write, writeProgram } from './hostile-repository-under-test.ts'

const gitIn = createGitIn({
  PATH: process.env.PATH,
  HOME: folderForFile(),
  GIT_AUTHOR_NAME: 'not passed on',
})

function repository(files: Record<string, string> = { 'a.txt': 'one\n' }): string {
  const folder = folderForTest()
  git(folder, 'init', '-q', '-b', 'main')
  write(folder, files)
  git(folder, 'config', 'user.name', 'Ada')
  git(folder, 'config', 'user.email', 'ada@example.com')
  git(folder, 'add', '-A')
  git(folder, 'commit', '-qm', 'first')
  return folder
}

const untrusted = (path: string) => gitIn({ path, trusted: false })
const trusted = (path: string) => gitIn({ path, trusted: true })
const read = (folder: string, path: string) => readFileSync(join(folder, path), 'utf8')

const stage = ['update-index', '--add', '--remove', '-z', '--stdin'] as const

/** A hook of the folder, and the file that it writes. */
function hook(folder: string, name: string, lines: string): string {
  const mark = join(folder, '.git', `${name}.ran`)
  writeProgram(join(folder, '.git/hooks', name), mark)
  if (lines !== '') writeFileSync(join(folder, '.git/hooks', name), `#!/bin/sh\n${lines}\n`)
  return mark
}

describe('a change', () => {
  it('of an untrusted folder reaches its repository: commits, branches, reflogs and the index', async () => {
    const folder = repository()
    write(folder, { 'a.txt': 'two\n', 'b.txt': 'new\n' })
    const { change, look } = untrusted(folder)
    expect(await change(stage, { input: 'a.txt\0b.txt\0' })).toMatchObject({ code: 0 })
    const committed = await change(['commit', '-qF', '-'], {
      input: 'second\n',
      env: { GIT_REFLOG_ACTION: 'cmd_1' },
    })
    expect(committed).toMatchObject({ code: 0, stderr: '' })
    expect(git(folder, 'log', '--format=%s by %an <%ae>', '-1').trim()).toBe(
      'second by Ada <ada@example.com>',
    )
    expect(git(folder, 'reflog', '-1', '--format=%gs').trim()).toBe('cmd_1: second')
    expect(git(folder, 'status', '--porcelain')).toBe('')
    expect(await change(['branch', 'other', 'HEAD~1'])).toMatchObject({ code: 0 })
    expect(git(folder, 'rev-parse', 'other')).toBe(git(folder, 'rev-parse', 'HEAD~1'))
    const log = await look(['log', '-g', '--format=%gs', '-1'])
    expect(log.stdout.trim()).toBe('cmd_1: second')
  })

  it('makes the first commit of a repository, in the object format of that repository', async () => {
    const folder = folderForTest()
    git(folder, 'init', '-q', '-b', 'main', '--object-format=sha256')
    write(folder, { 'a.txt': 'one\n' })
    const { change } = untrusted(folder)
    await change(stage, { input: 'a.txt\0' })
    const who = { GIT_AUTHOR_NAME: 'Ada', GIT_AUTHOR_EMAIL: 'a@example.com' }
    const by = { ...who, GIT_COMMITTER_NAME: 'Ada', GIT_COMMITTER_EMAIL: 'a@example.com' }
    expect(await change(['commit', '-qm', 'first'], { env: by })).toMatchObject({ code: 0 })
    expect(git(folder, 'rev-parse', 'HEAD').trim()).toHaveLength(64)
    expect(git(folder, 'reflog', '--format=%gs').trim()).toBe('commit (initial): first')
  })

  it('writes only inside the work tree, wherever the configuration says that the work tree is', async () => {
    const [folder, elsewhere] = [repository(), folderForTest()]
    write(folder, { 'a.txt': 'changed\n' })
    write(elsewhere, { 'a.txt': 'elsewhere\n' })
    git(folder, 'config', 'core.worktree', elsewhere)
    expect(await untrusted(folder).change(['restore', '--', 'a.txt'])).toMatchObject({ code: 0 })
    expect([read(folder, 'a.txt'), read(elsewhere, 'a.txt')]).toEqual(['one\n', 'elsewhere\n'])
  })

  it('adds a work tree that plain git can use, in a folder that is trusted or not', async () => {
    const [folder, parent] = [repository(), folderForTest()]
    for (const [name, { change }] of Object.entries({ no: untrusted(folder), yes: trusted(folder) })) {
      const path = join(parent, name)
      const added = await change(['worktree', 'add', '--no-checkout', '-b', `new-${name}`, path, 'HEAD'])
      expect(added).toMatchObject({ code: 0 })
      const inside = gitIn({ path, trusted: name === 'yes' })
      expect(await inside.change(['reset', '--hard'])).toMatchObject({ code: 0 })
      expect(read(path, 'a.txt')).toBe('one\n')
      expect(git(path, 'status', '--porcelain', '--branch').trim()).toBe(`## new-${name}`)
      const inUse = await untrusted(folder).change(['branch', '-D', `new-${name}`])
      expect(inUse.stderr).toContain('checked out at')
      expect(await change(['worktree', 'remove', '--force', path])).toMatchObject({ code: 0 })
      expect(existsSync(path)).toBe(false)
      expect(git(folder, 'worktree', 'list').trim().split('\n')).toHaveLength(1)
    }
  })

  it('runs the hooks and filters of a trusted folder, and none of an untrusted one', async () => {
    const folder = repository({ '.gitattributes': '*.txt filter=upper\n', 'a.txt': 'one\n' })
    git(folder, 'config', 'filter.upper.clean', 'tr a-z A-Z')
    const mark = hook(folder, 'pre-commit', '')
    const stored = async (text: string, { change }: ReturnType<typeof gitIn>) => {
      write(folder, { 'a.txt': text })
      await change(stage, { input: 'a.txt\0' })
      await change(['commit', '-qm', text])
      return git(folder, 'cat-file', 'blob', 'HEAD:a.txt')
    }
    expect(await stored('two\n', untrusted(folder))).toBe('two\n')
    expect(existsSync(mark)).toBe(false)
    expect(await stored('three\n', trusted(folder))).toBe('THREE\n')
    expect(existsSync(mark)).toBe(true)
  })

  it('that is cancelled ends git and every program that git has started', async () => {
    const folder = repository()
    const pids = join(folder, '.git/pids')
    hook(folder, 'pre-commit', `sleep 1000 & echo $! $$ > '${pids}.part'; mv '${pids}.part' '${pids}'; wait`)
    const abort = new AbortController()
    const work = trusted(folder).change(['commit', '--allow-empty', '-m', 'x'], { signal: abort.signal })
    const failed = expect(work).rejects.toMatchObject({ code: 'cancelled' })
    await expect.poll(() => existsSync(pids), { timeout: 20_000 }).toBe(true)
    abort.abort()
    await failed
    const started = readFileSync(pids, 'utf8').trim().split(' ').map(Number)
    expect(started).toHaveLength(2)
    await expect.poll(() => started.filter(isRunning), { timeout: 20_000 }).toEqual([])
    expect(existsSync(join(folder, '.git/index.lock'))).toBe(false)
  })

  it('ends when it makes no progress, or takes too long', async () => {
    const folder = repository()
    hook(folder, 'pre-commit', 'echo started >&2; sleep 1000')
    const heard: string[] = []
    const work = (limits: object) =>
      trusted(folder).change(['commit', '--allow-empty', '-m', 'x'], {
        ...limits,
        progress: (text) => heard.push(text),
      })
    await expect(work({ quietMs: 50 })).rejects.toMatchObject({ code: 'busy' })
    await expect(work({ timeoutMs: 50 })).rejects.toMatchObject({ code: 'busy' })
    await expect(work({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'cancelled' })
  })
})

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

describe('contacting a remote', () => {
  it('is refused with a reason unless the folder is trusted', async () => {
    const folder = repository()
    for (const args of [['fetch'], ['push'], ['gh', '--version']] as const)
      await expect(untrusted(folder).reach(args)).rejects.toMatchObject({
        code: 'forbidden',
        details: { untrusted: folder },
      })
  })

  it('is possible from a trusted folder', async () => {
    const [folder, remote] = [repository(), folderForTest()]
    git(remote, 'init', '-q', '--bare', '-b', 'main')
    git(folder, 'remote', 'add', 'origin', remote)
    expect(await trusted(folder).reach(['push', '-q', 'origin', 'main'])).toMatchObject({ code: 0 })
    expect(git(remote, 'rev-parse', 'main')).toBe(git(folder, 'rev-parse', 'main'))
  })

  it('with a program that is not installed is refused with its name', async () => {
    const only = folderForTest()
    const { reach } = createGitIn({ PATH: only })({ path: repository(), trusted: true })
    await expect(reach(['gh', 'pr', 'list'])).rejects.toMatchObject({
      code: 'not_supported',
      details: { missing: 'gh' },
    })
  })
})

it('git refuses to read or change a bare repository in an untrusted folder', async () => {
  const folder = folderForTest()
  git(folder, 'init', '-q', '--bare')
  const { look, change } = untrusted(folder)
  expect(await look(['rev-parse', 'HEAD'])).toMatchObject({ code: 128 })
  expect(await change(['update-ref', 'refs/heads/x', 'HEAD'])).toMatchObject({ code: 128 })
})
