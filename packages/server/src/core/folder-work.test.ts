import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ParleyError } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { folderForTest } from '../testing/temporary-folder.ts'
import { createFolderChanges } from '../workspace/folder-changes.ts'
import { createWorkspace } from '../workspace/index.ts'
import { createSessionFolder } from '../workspace/session-folder.ts'
import { hostUnderTest } from './host-under-test.ts'

const env = { PATH: process.env.PATH, HOME: '/nonexistent' }
const person = ['-c', 'user.name=p', '-c', 'user.email=p@example.com']

async function tested() {
  const folders = createSessionFolder({ env, root: folderForTest() })
  const test = await hostUnderTest({ folderChanges: createFolderChanges({ env, folders }) })
  const git = (...args: string[]) =>
    execFileSync('git', [...person, ...args], { cwd: test.cwd, encoding: 'utf8' })
  const write = (text: string) => writeFileSync(join(test.cwd, 'a.txt'), text)
  git('init', '-q')
  write('one\n')
  git('add', '-A')
  git('commit', '-qm', 'one')
  const { changes } = createWorkspace({ env })
  const seen = async () => {
    const { files } = await changes({ path: test.cwd, trusted: false }, 'HEAD')
    return files.map(({ path, blob = '' }) => ({ path, blob }))
  }
  return { test, git, write, seen, text: () => readFileSync(join(test.cwd, 'a.txt'), 'utf8') }
}

describe('a command that works in the folder', () => {
  it('is recorded with its sender when its work is done, and takes effect once', async () => {
    const { test, write, seen, text } = await tested()
    await using _ = test
    const { id } = await test.create()
    write('two\n')
    const by = { person: { id: 'per_1', name: 'Ada' }, via: 'http' } as const
    const files = await seen()
    const discard = { type: 'changes.discard', commandId: 'discard', base: 'HEAD', files } as const
    const receipts = [await test.host.command(id, discard, by), await test.host.command(id, discard, by)]
    expect(text()).toBe('one\n')
    expect(receipts[1]).toEqual(receipts[0])
    const { events } = await test.host.read(id, { after: (receipts[0]?.seq ?? 0) - 1, limit: 10 })
    expect(events.map(({ json }) => JSON.parse(json))).toMatchObject([
      { type: 'changes.discarded', files: [{ path: 'a.txt' }], actor: { person: { name: 'Ada' } } },
    ])
    const restore = { type: 'changes.restore', commandId: 'undo', discarded: receipts[0]?.seq ?? 0 } as const
    await test.host.command(id, restore, by)
    expect(text()).toBe('two\n')
    const other = { ...restore, commandId: 'other', discarded: 1 }
    await expect(test.host.command(id, other, by)).rejects.toMatchObject({ code: 'not_found' })
  })

  it('records nothing if it is refused, and can be tried again', async () => {
    const { test, write, seen, text } = await tested()
    await using _ = test
    const session = await test.create()
    write('two\n')
    const files = await seen()
    const discard = { type: 'changes.discard', commandId: 'discard', base: 'HEAD', files } as const
    write('three\n')
    await expect(session.command(discard)).rejects.toMatchObject({ code: 'conflict' })
    write('two\n')
    await session.command(discard)
    expect(text()).toBe('one\n')
    expect(await session.events('changes.discarded')).toHaveLength(1)
  })
  it('announces what its hooks write, without recording it', async () => {
    const { test, git, write, seen } = await tested()
    await using _ = test
    const session = await test.create()
    git('config', 'user.name', 'p')
    git('config', 'user.email', 'p@example.com')
    writeFileSync(join(test.cwd, '.git/hooks/pre-commit'), '#!/bin/sh\necho looking >&2\n', { mode: 0o755 })
    await test.host.trust(test.cwd)
    write('two\n')
    const deltas: unknown[] = []
    const stop = await test.host.follow(
      session.id,
      { after: 0 },
      {
        ...{ following() {}, caughtUp() {}, ended() {} },
        deliver: (batch) =>
          void deltas.push(
            ...batch.flatMap(({ kind, json }) => (kind === 'delta' ? [JSON.parse(json)] : [])),
          ),
      },
    )
    const commit = {
      type: 'changes.commit',
      commandId: 'commit',
      message: 'Two',
      files: await seen(),
    } as const
    await test.host.command(session.id, commit)
    stop()
    expect(deltas).toContainEqual({ type: 'command.progressed', commandId: 'commit', text: 'looking' })
    expect(await session.events('changes.committed')).toMatchObject([{ output: 'looking' }])
  })

  it('is completed and recorded before the server stops, if it is a merge that has begun', async () => {
    const { test, git } = await tested()
    await using _ = test
    const main = git('symbolic-ref', '--short', 'HEAD').trim()
    const cwd = join(realpathSync(folderForTest()), 'fix')
    git('worktree', 'add', '-q', '-b', 'fix', cwd)
    git('-C', cwd, 'commit', '-q', '--allow-empty', '-m', 'two')
    const wait = `touch '${test.cwd}/held'; until [ -e '${test.cwd}/go' ]; do sleep 0.05; done`
    const hook = `#!/bin/sh\n[ "$1" = prepared ] || exit 0\n${wait}\n`
    writeFileSync(join(test.cwd, '.git/hooks/reference-transaction'), hook, { mode: 0o755 })
    await test.host.trust(test.cwd)
    await test.host.trust(cwd)
    const session = await test.create({ cwd })
    const { branch = '', commit = '', into } = await test.host.previewMerge(session.id)
    const sides = { branch, commit, into: into?.branch ?? '', onto: into?.commit ?? '' }
    const merging = session.command({ type: 'branch.merge', ...sides, folder: into?.folder ?? '' })
    await expect.poll(() => existsSync(join(test.cwd, 'held'))).toBe(true)
    const { host } = test
    const closed = host.close()
    const isClosing = () =>
      host.create({ agent: 'scripted', cwd }).then(
        () => 'open',
        (error: unknown) => error instanceof ParleyError && error.code,
      )
    await expect.poll(isClosing).toBe('busy')
    writeFileSync(join(test.cwd, 'go'), '')
    await merging
    await closed
    await test.killAndRestart()
    expect(git('rev-parse', main).trim()).toBe(commit)
    expect(await session.events('branch.merged')).toMatchObject([{ branch: 'fix', commit }])
  })

  it('makes no commit while a turn runs', async () => {
    const { test, git, write, seen } = await tested()
    await using _ = test
    const session = await test.create()
    await session.submit({ type: 'wait', gate: 'turn' })
    await session.when(({ turn }) => turn !== undefined)
    write('two\n')
    git('config', 'user.name', 'p')
    git('config', 'user.email', 'p@example.com')
    const commit = { type: 'changes.commit', message: 'Two', files: await seen() } as const
    await expect(session.command(commit)).rejects.toMatchObject({ code: 'conflict' })
    test.gates.open('turn')
    await session.idle()
    await session.command(commit)
    expect(await session.events('changes.committed')).toMatchObject([
      { commit: git('rev-parse', 'HEAD').trim(), message: 'Two', files: 1 },
    ])
  })
})
