import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Project, projectIdOf } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { createMemoryStore } from '../stores/memory.ts'
import { eventsOf, stateOf } from '../testing/store-samples.ts'
import { git, write } from '../workspace/hostile-repository-under-test.ts'
import { type HostUnderTest, hostUnderTest } from './host-under-test.ts'

const edit = { type: 'permission', name: 'Write', kind: 'edit', input: { path: 'a.txt' } } as const

/** A repository with a linked worktree, in the folder of the host. */
function repositoryIn({ cwd }: Pick<HostUnderTest, 'cwd'>) {
  const app = join(cwd, 'app')
  write(app, { 'inner/a.txt': 'a\n' })
  git(app, 'init', '-q', '-b', 'main')
  git(app, 'add', '-A')
  git(app, 'commit', '-qm', 'first')
  const tree = join(cwd, 'tree')
  git(app, 'worktree', 'add', '-qb', 'feature', tree)
  return { app, tree, inner: join(app, 'inner'), project: join(app, '.git') }
}

/** True if a call runs without a question in a new session of the folder. */
async function isAllowed(home: HostUnderTest, cwd: string): Promise<boolean> {
  const session = await home.create({ cwd })
  await session.submit(edit)
  const { requests } = await session.when(
    ({ turn, requests, turns }) => requests.length > 0 || (turns > 0 && !turn),
  )
  return requests.length === 0
}

async function namesAndFolders(home: HostUnderTest) {
  const projects = await home.host.projects()
  return projects.map(({ name, folders }) => [name, folders.map(({ folder }) => folder).toSorted()])
}

describe('projects', () => {
  it('are recorded with each session, and group the sessions of a repository with its worktrees', async () => {
    await using home = await hostUnderTest()
    const { app, tree, inner, project } = repositoryIn(home)
    for (const cwd of [app, tree, inner]) {
      const session = await home.create({ cwd })
      expect((await session.events('session.created'))[0]).toMatchObject({ cwd, project })
    }
    const alone = await home.create()
    expect((await alone.state()).project).toBe(home.cwd)
    expect((await namesAndFolders(home)).toSorted()).toEqual(
      [
        ['app', [app, inner, tree].toSorted()],
        [home.cwd.split('/').at(-1), [home.cwd]],
      ].toSorted(),
    )
    const listed = await home.host.list({ limit: 9, project: projectIdOf({ project }) })
    expect(listed.sessions.map((session) => session.project)).toEqual([project, project, project])
    for (const id of ['prj_unknown', projectIdOf({ project: app })])
      expect(await home.host.list({ limit: 9, project: id })).toEqual({ sessions: [] })
  })

  it('count their sessions and those that wait, and name the branch of each folder', async () => {
    await using home = await hostUnderTest()
    const { app, tree } = repositoryIn(home)
    const first = await home.create({ cwd: app })
    await home.host.patch(first.id, { archived: true })
    const second = await home.create({ cwd: tree })
    await second.submit(edit)
    await second.when(({ requests }) => requests.length > 0)
    await home.create({ cwd: tree })
    const [found] = await home.host.projects()
    expect(found).toMatchObject({ root: app, sessions: 2, archived: 1, waiting: 1, settings: {} })
    expect(found?.folders.toSorted((a, b) => (a.folder < b.folder ? -1 : 1))).toEqual([
      { folder: app, sessions: 0, branch: 'main' },
      { folder: tree, sessions: 2, branch: 'feature' },
    ])
  })

  it('are kept by forks', async () => {
    await using home = await hostUnderTest()
    const { tree, project } = repositoryIn(home)
    const session = await home.create({ cwd: tree })
    await session.play({ type: 'text', text: 'done' })
    const { sessionId } = await session.command({ type: 'session.fork' })
    expect((await home.host.state(sessionId ?? '')).project).toBe(project)
  })

  it('keep the settings that people give them, each with the person', async () => {
    await using home = await hostUnderTest()
    const { app, project } = repositoryIn(home)
    await home.create({ cwd: app })
    const id = projectIdOf({ project })
    const by = { person: { id: 'per_1', name: 'Ada' }, via: 'http' } as const
    await home.host.patchProject(id, { name: 'Shop', check: 'npm test' }, by)
    await Promise.all([
      home.host.patchProject(id, { base: 'main' }),
      home.host.patchProject(id, { keepDays: 7, check: null }),
    ])
    const expected: Partial<Project> = {
      name: 'Shop',
      settings: { name: 'Shop', base: 'main', keepDays: 7 },
      changes: {
        name: { at: home.time.now(), by },
        base: { at: home.time.now() },
        keepDays: { at: home.time.now() },
      },
    }
    expect((await home.host.projects())[0]).toMatchObject(expected)
    await home.restart()
    expect((await home.host.projects())[0]).toMatchObject(expected)
    const cleared = await home.host.patchProject(id, { name: null, base: null, keepDays: null })
    expect([cleared.name, cleared.settings]).toEqual(['app', {}])
  })

  it('must be known to get settings, and refuse settings of a wrong shape', async () => {
    await using home = await hostUnderTest()
    const session = await home.create()
    const { project = '' } = await session.state()
    for (const id of [
      'prj_x',
      projectIdOf({ project: '/etc' }),
      projectIdOf({ project, place: 'elsewhere' }),
    ])
      await expect(home.host.patchProject(id, { name: 'x' })).rejects.toMatchObject({ code: 'not_found' })
    for (const patch of [{}, { setup: '' }, { base: '--upload-pack=x' }, { copy: ['../x'] }])
      await expect(home.host.patchProject(projectIdOf({ project }), patch)).rejects.toMatchObject({
        code: 'validation_error',
      })
    expect(await home.store.projectSettings()).toEqual([])
  })
})

describe('sessions of an earlier version', () => {
  /** A store with sessions that have no project, one for each folder. */
  async function earlier(folders: readonly string[]) {
    const store = createMemoryStore()
    for (const [index, cwd] of folders.entries()) {
      const id = `ses_${index}`
      const state = stateOf(id, { cwd, agent: 'scripted', seq: 1, updatedAt: 5 })
      await store.create({ sessionId: id, epoch: 'e', state, events: eventsOf(id, 1, 1) })
    }
    return store
  }

  it('get their project at the next start; a folder that is gone is a project by itself', async () => {
    await using place = await hostUnderTest()
    const { app, tree, inner, project } = repositoryIn(place)
    const gone = join(app, 'gone')
    const nested = join(app, 'nested')
    mkdirSync(nested)
    git(nested, 'init', '-q')
    const folders = [app, tree, inner, nested, place.cwd, gone]
    await using home = await hostUnderTest({ store: await earlier(folders) })
    const found = await Promise.all(folders.map((_, index) => home.host.state(`ses_${index}`)))
    expect(found.map((state) => state.project)).toEqual([
      project,
      project,
      project,
      join(nested, '.git'),
      place.cwd,
      gone,
    ])
    expect(found.map(({ seq, updatedAt }) => [seq, updatedAt])).toEqual(folders.map(() => [1, 5]))
    expect(await home.store.withoutProject({ after: '', limit: 9 })).toEqual([])
    await home.host.patch('ses_1', { title: 'renamed' })
    await home.restart()
    expect((await home.host.state('ses_1')).project).toBe(project)
  })
})

describe('a grant for the project', () => {
  it('holds in the subfolders and worktrees of its repository, and in no other repository', async () => {
    await using home = await hostUnderTest()
    const { app, tree, inner, project } = repositoryIn(home)
    const nested = join(app, 'nested')
    mkdirSync(nested)
    git(nested, 'init', '-q')
    const session = await home.create({ cwd: tree })
    await session.submit(edit)
    await session.decide('allow', { scope: 'project' })
    await session.idle()
    expect(await home.host.rules()).toMatchObject([{ scope: 'project', project }])
    expect(await isAllowed(home, tree)).toBe(true)
    expect(await isAllowed(home, app)).toBe(true)
    expect(await isAllowed(home, inner)).toBe(true)
    expect(await isAllowed(home, nested)).toBe(false)
    expect(await isAllowed(home, home.cwd)).toBe(false)
  })

  it('does not hold in a folder that pretends to be a worktree of the repository', async () => {
    await using home = await hostUnderTest()
    const { app, tree, project } = repositoryIn(home)
    await home.host.addRule({ tool: '*', decision: 'allow', scope: 'project', project: app })
    expect(await home.host.rules()).toMatchObject([{ project }])
    expect(await isAllowed(home, tree)).toBe(true)
    const evil = join(home.cwd, 'evil')
    for (const target of [`${app}/.git`, `${app}/.git/worktrees/tree`, '../app/.git/worktrees/tree']) {
      write(evil, { '.git': `gitdir: ${target}\n` })
      expect(await isAllowed(home, evil), target).toBe(false)
    }
    rmSync(join(evil, '.git'))
    git(evil, 'init', '-q')
    write(evil, { '.git/commondir': `${app}/.git\n` })
    expect(await isAllowed(home, evil)).toBe(false)
  })

  it('that was stored with a folder inside a repository holds only there', async () => {
    await using home = await hostUnderTest()
    const { app, tree, inner } = repositoryIn(home)
    await home.host.addRule({ tool: '*', decision: 'allow', scope: 'project', project: inner })
    expect(await isAllowed(home, inner)).toBe(true)
    expect(await isAllowed(home, app)).toBe(false)
    expect(await isAllowed(home, tree)).toBe(false)
  })
})
