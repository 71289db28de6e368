import type { ProjectGroup, StoredProjectSetting } from '../../core/session-store.ts'
import { expect, it } from '../peers.ts'
import { eventsOf, requestOf, stateOf } from '../store-samples.ts'
import type { TestedStore } from './tested-store.ts'

/** The part of the store contract about projects: the sessions of each project, and its settings. */
export function projectCases(tested: TestedStore): void {
  const { create } = tested
  const groups = async (query: { sessions?: readonly string[] } = {}) =>
    (await tested.store.projectGroups(query)).toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))

  it('counts the sessions of each project by folder and agent', async () => {
    const inProject = { project: '/w/.git', cwd: '/w', agent: 'x' }
    await create('a', { ...inProject, updatedAt: 3, requests: [requestOf('q', 1), requestOf('r', 2)] })
    await create('b', { ...inProject, updatedAt: 9, archived: true, requests: [requestOf('q', 1)] })
    await create('c', { ...inProject, cwd: '/w/"\\ud800é', agent: 'y', updatedAt: 5 })
    await create('d', { project: '/other', cwd: '/other', agent: 'x', updatedAt: 1 })
    await create('without', { cwd: '/w', agent: 'x' })
    const first = { ...keyedBy(inProject), sessions: 1, archived: 1, waiting: 1, usedAt: 9 }
    const none = { archived: 0, waiting: 0 }
    const second = { project: '/w/.git', folder: '/w/"\\ud800é', agent: 'y', sessions: 1, ...none, usedAt: 5 }
    const other = { project: '/other', folder: '/other', agent: 'x', sessions: 1, ...none, usedAt: 1 }
    expect(await groups()).toEqual([other, first, second])
    expect(await groups({ sessions: ['a', 'd', 'nobody'] })).toEqual([
      other,
      { ...first, archived: 0, usedAt: 3 },
    ])
    expect(await groups({ sessions: [] })).toEqual([])

    await tested.store.append({
      sessionId: 'a',
      events: [],
      state: stateOf('a', { ...inProject, updatedAt: 12 }),
    })
    await tested.store.delete('d')
    expect(await groups()).toEqual([{ ...first, waiting: 0, usedAt: 12 }, second])
  })

  it('lists the sessions of a project', async () => {
    await create('a', { project: '/w/.git', cwd: '/w' })
    await create('b', { project: '/w/.git', cwd: '/w/inner' })
    await create('c', { project: '/w', cwd: '/w' })
    await create('d', { cwd: '/w' })
    const listed = async (project: string) => {
      const { sessions } = await tested.store.list({ limit: 9, project: { project } })
      return sessions.map((session) => [session.id, session.project])
    }
    expect(await listed('/w/.git')).toEqual([
      ['a', '/w/.git'],
      ['b', '/w/.git'],
    ])
    expect(await listed('/w')).toEqual([['c', '/w']])
    expect(await listed('/')).toEqual([])
  })

  addedCases(tested)
  settingCases(tested)
}

function addedCases(tested: TestedStore): void {
  const { create } = tested

  it('lists only attempts of rounds, even after their states have changed', async () => {
    const round = { id: 'rnd_"\ud800', attempt: 1, count: 2, workedMs: 0 }
    await create('a', { project: '/w/.git', cwd: '/w', round })
    await create('b', { project: '/w/.git', cwd: '/w' })
    await create('c', { project: '/other', cwd: '/other', round: { ...round, attempt: 2 } })
    const listed = async (project?: string) => {
      const at = project === undefined ? {} : { project: { project } }
      const { sessions } = await tested.store.list({ limit: 9, inRound: true, ...at })
      return sessions.map((session) => [session.id, session.round?.attempt]).toSorted()
    }
    expect(await listed()).toEqual([
      ['a', 1],
      ['c', 2],
    ])
    expect(await listed('/other')).toEqual([['c', 2]])
  })

  it('adds the project to sessions that have none, and keeps it whatever is appended', async () => {
    for (const id of ['b', 'a', 'c']) await create(id, { cwd: `/w/${id}`, updatedAt: 4 })
    await create('d', { cwd: '/w', project: '/w/.git' })
    const without = (after: string, limit = 9) => tested.store.withoutProject({ after, limit })
    expect(await without('', 2)).toEqual([
      { sessionId: 'a', folder: '/w/a' },
      { sessionId: 'b', folder: '/w/b' },
    ])
    expect(await without('b')).toEqual([{ sessionId: 'c', folder: '/w/c' }])
    await tested.store.addProjects([
      { sessionId: 'a', folder: '/w/a', project: '/w/.git' },
      { sessionId: 'c', folder: '/w/c', project: '/w/c' },
      { sessionId: 'd', folder: '/w', project: '/another' },
      { sessionId: 'gone', folder: '/w', project: '/w/.git' },
    ])
    await tested.store.addProjects([{ sessionId: 'a', folder: '/x', project: '/another' }])
    expect(await without('')).toEqual([{ sessionId: 'b', folder: '/w/b' }])
    await tested.store.append({
      sessionId: 'a',
      events: eventsOf('a', 2, 1),
      state: stateOf('a', { cwd: '/w/a', updatedAt: 4, title: 'later', requests: [requestOf('q', 1)] }),
    })
    await tested.reopen()
    expect((await tested.store.load('a'))?.state).toMatchObject({ title: 'later', project: '/w/.git' })
    expect((await tested.store.load('b'))?.state.project).toBeUndefined()
    expect((await tested.store.load('d'))?.state.project).toBe('/w/.git')
    expect((await tested.store.waiting()).map(({ project }) => project)).toEqual(['/w/.git'])
    const groups = await tested.store.projectGroups({})
    expect(groups.map(({ project, folder }) => [project, folder]).toSorted()).toEqual([
      ['/w/.git', '/w'],
      ['/w/.git', '/w/a'],
      ['/w/c', '/w/c'],
    ])
  })
}

function settingCases(tested: TestedStore): void {
  const actor = { person: { id: 'per_1', name: 'Ada' }, via: 'http' } as const
  const setting = (changes: Partial<StoredProjectSetting>): StoredProjectSetting => ({
    ...{ project: '/w/.git', field: 'name', value: 'W', at: 1 },
    ...changes,
  })

  it('keeps the last value of each setting of a project, and who changed it', async () => {
    const { store } = tested
    await store.setProjectSettings([setting({ by: actor }), setting({ field: 'keepDays', value: 3 })])
    await store.setProjectSettings([
      setting({ value: 'New "name"', at: 5 }),
      setting({ field: 'copy', value: ['.env', 'a\\b'], at: 5, by: actor }),
      setting({ project: '/"w\\ud800', at: 5 }),
    ])
    await tested.reopen()
    expect(await tested.store.projectSettings()).toEqual([
      setting({ project: '/"w\\ud800', at: 5 }),
      setting({ field: 'copy', value: ['.env', 'a\\b'], at: 5, by: actor }),
      setting({ field: 'keepDays', value: 3 }),
      setting({ value: 'New "name"', at: 5 }),
    ])
  })

  it('removes a setting that is set to null, and only that one', async () => {
    const { store } = tested
    await store.setProjectSettings([setting({}), setting({ field: 'base', value: 'main' })])
    await store.setProjectSettings([setting({ value: null }), setting({ field: 'check', value: null })])
    expect(await store.projectSettings()).toEqual([setting({ field: 'base', value: 'main' })])
    await store.setProjectSettings([])
    expect(await store.projectSettings()).toHaveLength(1)
  })

  it('keeps the settings of the same path at several places apart, if it has places', async () => {
    const { store, hasPlaces } = tested
    await store.setProjectSettings([setting({})])
    expect(await store.projectSettings()).toEqual([setting({})])
    if (!hasPlaces) return
    const places = ['machine:a', 'machine:b']
    await store.setProjectSettings(places.map((place) => setting({ place, value: place })))
    await store.setProjectSettings([setting({ place: 'machine:a', value: null })])
    expect(await store.projectSettings()).toEqual([
      setting({}),
      setting({ place: 'machine:b', value: 'machine:b' }),
    ])
  })
}

const keyOf = ({ project, folder, agent }: ProjectGroup) => JSON.stringify([project, folder, agent])

function keyedBy({ project, cwd, agent }: { project: string; cwd: string; agent: string }) {
  return { project, folder: cwd, agent }
}
