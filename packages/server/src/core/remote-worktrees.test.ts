import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { NewWorktree } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { branches, git, reaches, tested, write } from './worktrees-under-test.ts'

describe('a worktree that begins at a branch of a remote', () => {
  it('inherits nothing from its project, and neither does one that begins at its branch or in its folder', async () => {
    const { test, repository, create } = await tested({
      settings: { setup: 'touch prepared', copy: ['.env'] },
    })
    await test.host.trust(repository)
    git(repository, 'update-ref', 'refs/remotes/origin/theirs', 'HEAD')
    const session = await create({ base: 'origin/theirs' })
    const { path, remote } = await reaches(session, 'ready')
    expect([remote, existsSync(join(path, 'prepared')), existsSync(join(path, '.env'))]).toEqual([
      true,
      false,
      false,
    ])
    expect((await test.host.detail(session.id, 0)).trusted).toBe(false)
    // A worktree that begins at the branch or in the folder of that worktree inherits nothing either.
    const [{ worktree }] = [await test.host.state(session.id)]
    const input = { agent: 'scripted', worktree: {} }
    const nested = [
      await create({ base: worktree?.branch ?? '' }),
      { id: (await test.host.create({ ...input, cwd: path })).id },
    ]
    for (const one of nested) {
      await expect.poll(async () => (await test.host.state(one.id)).worktree?.phase).toBe('ready')
      const { cwd, worktree: made } = await test.host.state(one.id)
      expect([made?.remote, existsSync(join(cwd, 'prepared')), existsSync(join(cwd, '.env'))]).toEqual([
        true,
        false,
        false,
      ])
    }
  })

  it('keeps its mark when its session is deleted, until its branch is deleted', async () => {
    const { test, repository, create } = await tested()
    await test.host.trust(repository)
    git(repository, 'update-ref', 'refs/remotes/origin/theirs', 'HEAD')
    const made = async (worktree: NewWorktree, more: object = {}) =>
      reaches(await create(worktree, more), 'ready')
    const [removed, orphaned] = [
      await create({ base: 'origin/theirs' }),
      await create({ base: 'origin/theirs' }),
    ]
    const kept = await reaches(removed, 'ready')
    const orphan = await reaches(orphaned, 'ready')
    await removed.command({ type: 'worktree.remove', branch: 'keep' })
    await reaches(removed, 'removed')
    write(orphan.path, { 'new.txt': 'new\n' })
    for (const { id } of [removed, orphaned]) await test.host.delete(id)
    expect((await made({ base: kept.branch })).remote).toBe(true)
    expect((await made({ base: orphan.branch })).remote).toBe(true)
    expect((await made({}, { cwd: orphan.path })).remote).toBe(true)
    const [project] = await test.host.projects()
    expect([project?.settings, project?.changes]).toEqual([{}, undefined])

    // The mark is removed with the branch. The sessions above have recorded other branches.
    const name = basename(orphan.path)
    await expect.poll(async () => (await test.host.worktrees()).map((one) => one.name)).toContain(name)
    await test.host.removeOrphan(name, 'delete')
    expect(branches(repository)).not.toContain(orphan.branch)
    git(repository, 'branch', orphan.branch)
    expect((await made({ base: orphan.branch })).remote).toBeUndefined()
  })
})
