import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { folderForTest } from '../testing/temporary-folder.ts'
import { branches, git, reaches, shell, tested, worktreeOf, write } from './worktrees-under-test.ts'

describe('a session with a worktree', () => {
  it('works on a branch of its own in the data folder, and leaves the folder that it was made from alone', async () => {
    const { test, repository, root, create } = await tested()
    await test.host.trust(repository)
    const session = await create({}, { cwd: join(repository, 'sub'), title: 'Répair the Größe!' })
    const worktree = await reaches(session, 'ready')
    expect(worktree).toMatchObject({ branch: 'parley/repair-the-gro-e', from: 'main', source: repository })
    expect(dirname(worktree.path)).toBe(root)
    const { cwd, project, status } = await session.state()
    expect({ cwd, project, status }).toEqual({
      cwd: join(worktree.path, 'sub'),
      project: join(repository, '.git'),
      status: 'idle',
    })
    await session.play(shell('c.txt'))
    expect(readFileSync(join(worktree.path, 'sub/c.txt'), 'utf8')).toBe('x\n')
    expect(readFileSync(join(worktree.path, 'a.txt'), 'utf8')).toBe('one\n')
    expect(git(worktree.path, 'branch', '--show-current')).toBe('parley/repair-the-gro-e')
    expect(git(repository, 'status', '--porcelain')).toBe('M a.txt')
    expect(test.connections.map(({ input }) => [input.cwd, input.trusted])).toEqual([[cwd, true]])
    await test.host.distrust(repository)
    expect((await test.host.detail(session.id, 0)).trusted).toBe(false)
    expect(test.problems).toEqual([])
  })

  it('has a branch of its own, even if another worktree with the same words is being made', async () => {
    const { create } = await tested()
    const sessions = await Promise.all([1, 2].map(() => create({}, { title: 'Same words' })))
    for (const session of sessions) await reaches(session, 'ready')
  })

  it('queues its first prompt until the command of the project has prepared the worktree', async () => {
    const { test, repository, create } = await tested({
      settings: {
        setup:
          'echo preparing; until [ -e "$PARLEY_SOURCE/go" ]; do sleep 0.02; done; echo done >&2; echo x > prepared',
      },
    })
    const session = await create({}, { prompt: JSON.stringify([shell('after.txt')]) })
    const { path } = await reaches(session, 'preparing')
    expect(await session.state()).toMatchObject({ status: 'working', queue: [{ delivery: 'queue' }] })
    await test.restart()
    expect(await session.state()).toMatchObject({ status: 'working', worktree: { phase: 'preparing' } })
    write(repository, { go: '' })
    const worktree = await reaches(session, 'ready')
    expect(worktree.setup).toMatchObject({ exitCode: 0, tail: 'preparing\ndone\n' })
    await expect.poll(() => existsSync(join(path, 'after.txt'))).toBe(true)
    expect(await session.events('worktree.made')).toHaveLength(1)
    expect(await session.events('turn.started')).toHaveLength(1)
  })

  it('keeps its prompt and no folder if the command fails, and can be tried again with or without the command', async () => {
    const { repository, root, set, create } = await tested({ settings: { setup: 'echo broken; exit 7' } })
    const session = await create({}, { prompt: JSON.stringify([shell('after.txt')]) })
    const failed = await reaches(session, 'failed')
    expect(failed.failure).toMatchObject({ action: 'make', setup: { exitCode: 7, tail: 'broken\n' } })
    expect(readdirSync(root)).toEqual([])
    expect(branches(repository)).toEqual(['main'])
    expect((await session.state()).queue).toHaveLength(1)
    await session.command({ type: 'worktree.retry' })
    await expect.poll(async () => (await session.events('worktree.failed')).length).toBe(2)
    await set({ setup: 'exit 1' })
    await session.command({ type: 'worktree.retry', setup: false })
    const { path } = await reaches(session, 'ready')
    await expect.poll(() => existsSync(join(path, 'after.txt'))).toBe(true)
  })

  it('can be removed while it is prepared, and restored later; the prompt waits until then', async () => {
    const { root, set, create } = await tested({ settings: { setup: 'echo hangs; sleep 600' } })
    const session = await create({}, { prompt: JSON.stringify([shell('after.txt')]) })
    const { path } = await reaches(session, 'preparing')
    await session.command({ type: 'worktree.remove', branch: 'delete' })
    await reaches(session, 'removed')
    expect(readdirSync(root)).toEqual([])
    expect((await session.state()).queue).toHaveLength(1)
    await set({ setup: 'true' })
    await session.command({ type: 'worktree.restore' })
    await reaches(session, 'ready')
    await expect.poll(() => existsSync(join(path, 'after.txt'))).toBe(true)
  })

  it('ends a command that hangs, with the processes that it has started', async () => {
    const { root, create } = await tested({
      settings: { setup: 'echo hangs; sleep 600 & sleep 600' },
      limits: { setupMs: 300 },
    })
    const session = await create()
    const { failure } = await reaches(session, 'failed')
    expect(failure?.setup).toMatchObject({ tail: 'hangs\n' })
    expect(failure?.setup?.exitCode).toBeUndefined()
    expect(readdirSync(root)).toEqual([])
  })

  it('is refused before anything is made if there is no commit, no repository, no space, or no such branch', async () => {
    const { test, repository, root, create } = await tested()
    const [empty, plain, forged] = [folderForTest(), folderForTest(), folderForTest()]
    git(empty, 'init', '-q')
    write(forged, { '.git': `gitdir: ${join(repository, '.git')}\n` })
    for (const cwd of [empty, plain, forged])
      await expect(create({}, { cwd })).rejects.toMatchObject({ code: 'not_supported' })
    await expect(create({ base: 'none' })).rejects.toMatchObject({ code: 'validation_error' })
    await expect(create({ branch: 'main' })).rejects.toMatchObject({ code: 'conflict' })
    await expect(create({ branch: 'main/x' })).rejects.toMatchObject({ code: 'conflict' })
    await expect(create({ branch: '-x' })).rejects.toMatchObject({ code: 'validation_error' })
    await expect(create({ copy: ['a.txt'] })).rejects.toMatchObject({ code: 'validation_error' })
    expect((await test.host.offerWorktree(forged)).refused).toMatchObject({ code: 'not_supported' })
    const full = await tested({ freeBytes: async () => 1e9 })
    await expect(full.create()).rejects.toMatchObject({ code: 'not_supported', details: { freeBytes: 1e9 } })
    expect([...readdirSync(root), ...branches(repository)]).toEqual(['main'])
    expect((await test.host.list({ limit: 10 })).sessions).toEqual([])
  })

  it('gets copies of the ignored files that a setting or .worktreeinclude names, but follows no link', async () => {
    const { test, repository, create } = await tested({ settings: { copy: ['*.key'] } })
    const outside = folderForTest()
    write(outside, { secret: 'outside\n' })
    symlinkSync(join(outside, 'secret'), join(repository, 'link.key'))
    symlinkSync(outside, join(repository, 'dir.key'))
    write(repository, {
      '.worktreeinclude': '# files\n.env.local\nsecret\n',
      '.env.local': 'L\n',
      'sub/d.key': 'D\n',
    })
    const offer = await test.host.offerWorktree(repository)
    expect(offer).toMatchObject({
      head: 'main',
      branches: ['main'],
      remotes: [],
      changes: 2,
      files: 3,
      setup: false,
    })
    expect(offer.copy).toEqual([
      { path: '.env.local', bytes: 2, chosen: true },
      { path: 'sub/d.key', bytes: 2, chosen: true },
      { path: '.env', bytes: 9, chosen: false },
    ])
    const { path, made } = await reaches(await create(), 'ready')
    expect(made?.copied).toEqual(['.env.local', 'sub/d.key'])
    expect(readFileSync(join(path, 'sub/d.key'), 'utf8')).toBe('D\n')
    const chosen = await reaches(await create({ copy: ['.env', 'link.key'] }), 'ready')
    expect(chosen.made).toEqual({ copied: ['.env'], leftOut: [{ path: 'link.key', reason: 'not-copied' }] })
    expect(readdirSync(chosen.path).toSorted()).toEqual(['.env', '.git', '.gitignore', 'a.txt', 'sub'])
  })
})

/** A session whose worktree has a commit, a change, a new file and an ignored file. */
async function worked() {
  const setting = await tested()
  const session = await setting.create({ branch: 'topic/it', copy: ['.env'] })
  const { path } = await reaches(session, 'ready')
  write(path, { 'a.txt': 'two\n' })
  git(path, 'commit', '-qam', 'second')
  await session.play(shell('new.txt', 'new\n'), shell('a.txt', 'three\n'))
  write(path, { 'notes.key': 'mine\n' })
  return { ...setting, session, path, head: git(path, 'rev-parse', 'HEAD') }
}

describe('removing a worktree', () => {
  it('first names what would be lost, then saves the content that can be restored', async () => {
    const { test, repository, root, session, path, head } = await worked()
    expect(await test.host.worktree(session.id)).toMatchObject({
      isThere: true,
      others: [],
      loss: {
        changes: 2,
        commits: 1,
        loose: 0,
        ignored: ['.env', 'notes.key'],
        ignoredFiles: 1,
        leftOut: [],
      },
    })
    const gentle = session.command({ type: 'worktree.remove', ifNothingLost: true })
    await expect(gentle).rejects.toMatchObject({ code: 'conflict', details: { loss: { changes: 2 } } })
    await session.command({ type: 'worktree.remove', branch: 'delete' })
    expect((await reaches(session, 'removed')).removed).toMatchObject({ branch: 'deleted', head })
    expect([...readdirSync(root), ...branches(repository)]).toEqual(['main'])
    expect(git(repository, 'worktree', 'list').split('\n')).toHaveLength(1)
    await expect(session.play(shell('x'))).rejects.toMatchObject({
      code: 'conflict',
      details: { worktree: 'removed' },
    })

    await session.command({ type: 'worktree.restore' })
    expect((await reaches(session, 'ready')).made).toEqual({ restored: true })
    expect(git(path, 'rev-parse', 'HEAD')).toBe(head)
    expect(git(path, 'branch', '--show-current')).toBe('topic/it')
    expect(git(path, 'status', '--porcelain').split('\n')).toEqual(['M a.txt', '?? new.txt'])
    expect(readFileSync(join(path, 'a.txt'), 'utf8')).toBe('two\nthree\n')
    expect(readdirSync(path)).toContain('.env')
    await session.play(shell('again.txt'))
    expect(test.problems).toEqual([])
  })

  it('is refused during a turn, and in a session for which the worktree was not made', async () => {
    const { test, session, path } = await worked()
    const { sessionId = '' } = await session.command({ type: 'session.fork' })
    expect(await test.host.state(sessionId)).toMatchObject({
      cwd: path,
      worktree: { of: session.id, phase: 'ready' },
    })
    const forks = test.host.command(sessionId, { type: 'worktree.remove', commandId: 'a' })
    await expect(forks).rejects.toMatchObject({ code: 'conflict', details: { session: session.id } })
    const text = JSON.stringify([{ type: 'wait', gate: 'held' }])
    await session.command({ type: 'prompt.submit', text })
    await expect(session.command({ type: 'worktree.remove' })).rejects.toMatchObject({ code: 'conflict' })
    test.gates.open('held')
    await expect.poll(async () => (await session.state()).turn).toBeUndefined()
    await session.command({ type: 'worktree.remove' })
    await reaches(session, 'removed')
    const gone = test.host.command(sessionId, { type: 'prompt.submit', commandId: 'b', text })
    await expect(gone).rejects.toMatchObject({ code: 'conflict', details: { session: session.id } })
  })

  it('keeps changes that git does not look for, and commits that cannot be counted', async () => {
    const { repository, create } = await tested()
    const session = await create({ branch: 'topic/it' })
    const { path } = await reaches(session, 'ready')
    const gently = () => session.command({ type: 'worktree.remove', branch: 'delete', ifNothingLost: true })
    for (const flag of ['skip-worktree', 'assume-unchanged']) {
      git(path, 'update-index', `--${flag}`, 'a.txt')
      write(path, { 'a.txt': 'hidden\n' })
      await expect(gently(), flag).rejects.toMatchObject({ details: { loss: { changes: 1 } } })
      write(path, { 'a.txt': 'one\n' })
      git(path, 'update-index', `--no-${flag}`, 'a.txt')
    }
    git(path, 'commit', '-q', '--allow-empty', '-m', 'second')
    write(repository, { '.git/refs/heads/broken': `${'1'.repeat(40)}\n` })
    await expect(gently()).rejects.toMatchObject({ code: 'not_supported' })
    rmSync(join(repository, '.git/refs/heads/broken'))
    expect(branches(repository)).toEqual(['main', 'topic/it'])
    await session.command({ type: 'worktree.remove' })
    await reaches(session, 'removed')
  })

  it('ends a command that works in the worktree', async () => {
    const { test, repository, session, path, head } = await worked()
    await test.host.trust(repository)
    git(repository, 'config', 'user.name', 'p')
    git(repository, 'config', 'user.email', 'p@example.com')
    const hook = `#!/bin/sh\ntouch '${repository}/held'\nuntil [ -e '${repository}/go' ]; do sleep 0.05; done\n`
    writeFileSync(join(repository, '.git/hooks/pre-commit'), hook, { mode: 0o755 })
    const file = { path: 'a.txt', blob: git(path, 'hash-object', 'a.txt') }
    const committing = session.command({ type: 'changes.commit', message: 'x', files: [file] })
    const refused = expect(committing).rejects.toMatchObject({ code: 'cancelled' })
    await expect.poll(() => existsSync(join(repository, 'held'))).toBe(true)
    await session.command({ type: 'worktree.remove' })
    await reaches(session, 'removed')
    await refused
    expect(git(repository, 'rev-parse', 'topic/it')).toBe(head)
  })

  it('that was done by hand leaves a session that can be read until the worktree is restored', async () => {
    const { repository, session, path, head } = await worked()
    await expect.poll(async () => (await session.events('snapshot.taken')).length).toBe(2)
    rmSync(path, { recursive: true })
    await expect(session.play(shell('x'))).rejects.toMatchObject({ details: { worktree: 'removed' } })
    expect(await worktreeOf(session)).toMatchObject({
      phase: 'removed',
      removed: { missing: true, branch: 'kept' },
    })
    mkdirSync(path)
    await expect(session.command({ type: 'worktree.restore' })).rejects.toMatchObject({ code: 'conflict' })
    rmSync(path, { recursive: true })
    await session.command({ type: 'worktree.restore' })
    await reaches(session, 'ready')
    expect(readFileSync(join(path, 'a.txt'), 'utf8')).toBe('two\nthree\n')

    // The restoration from the last snapshot keeps a later commit on the branch.
    rmSync(path, { recursive: true })
    git(
      repository,
      'update-ref',
      'refs/heads/topic/it',
      git(repository, 'commit-tree', '-p', head, '-m', 'third', `${head}^{tree}`),
    )
    await expect(session.play(shell('x'))).rejects.toMatchObject({ details: { worktree: 'removed' } })
    await session.command({ type: 'worktree.restore' })
    await reaches(session, 'ready')
    expect(git(path, 'log', '-1', '--format=%s')).toBe('third')
    expect(readFileSync(join(path, 'a.txt'), 'utf8')).toBe('two\n')
  })

  it('happens with the deletion of a session if nothing would be lost; otherwise the worktree becomes an orphan', async () => {
    const { test, repository, root, create, session, path } = await worked()
    const clean = await create({}, { title: 'clean' })
    const { path: other } = await reaches(clean, 'ready')
    await test.host.delete(clean.id)
    await expect.poll(() => [existsSync(other), ...branches(repository)]).toEqual([false, 'main', 'topic/it'])
    const [name = ''] = readdirSync(root)
    await expect(test.host.removeOrphan(name, 'delete')).rejects.toMatchObject({ code: 'conflict' })
    await test.host.delete(session.id)
    await expect.poll(async () => (await test.host.worktrees())[0]?.session).toBeUndefined()
    const [orphan] = await test.host.worktrees()
    expect(orphan).toMatchObject({ name, path, branch: 'topic/it', loss: { changes: 2, commits: 1 } })
    expect(orphan?.bytes).toBeGreaterThan(0)
    for (const wrong of ['..', '.', 'x', `../${name}`])
      await expect(test.host.removeOrphan(wrong, 'delete')).rejects.toMatchObject({ code: 'not_found' })
    await test.host.removeOrphan(name, 'delete')
    expect([...readdirSync(root), ...branches(repository)]).toEqual(['main'])
  })
})
