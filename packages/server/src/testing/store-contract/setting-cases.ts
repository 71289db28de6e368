import { expect, it } from '../peers.ts'
import { ruleOf } from '../store-samples.ts'
import type { TestedStore } from './tested-store.ts'

/** The part of the store contract about data that applies to several sessions: rules, trusted folders and variables. */
export function settingCases(tested: TestedStore): void {
  const { create } = tested

  it('keeps rules in the order in which they were added, and removes them', async () => {
    await tested.store.addRule(ruleOf('r2', { match: { command: 'git *' }, scope: 'project', project: '/w' }))
    await create('a')
    await tested.store.append({ sessionId: 'a', events: [], rules: [ruleOf('r1'), ruleOf('r3')] })
    expect((await tested.store.rules()).map(({ ruleId }) => ruleId)).toEqual(['r2', 'r1', 'r3'])
    expect((await tested.store.rules())[0]).toMatchObject({ match: { command: 'git *' }, project: '/w' })
    await tested.store.addRule(ruleOf('r2', { decision: 'deny' }))
    expect((await tested.store.rules())[0]).toEqual(ruleOf('r2', { decision: 'deny' }))
    expect(await tested.store.removeRule('r1')).toBe(true)
    expect(await tested.store.removeRule('r1')).toBe(false)
    expect((await tested.store.rules()).map(({ ruleId }) => ruleId)).toEqual(['r2', 'r3'])
  })

  it('keeps trusted folders in the order in which they were added, and removes them', async () => {
    const folders = async () => (await tested.store.trustedFolders()).map(({ folder }) => folder)
    for (const folder of ['/b', '/a', '/B']) await tested.store.trustFolder({ folder, trustedAt: 1 })
    expect(await folders()).toEqual(['/b', '/a', '/B'])
    await tested.store.trustFolder({ folder: '/b', trustedAt: 1_700_000_000_000 })
    expect((await tested.store.trustedFolders())[0]).toEqual({ folder: '/b', trustedAt: 1_700_000_000_000 })
    expect(await tested.store.distrustFolder('/a/')).toBe(false)
    expect(await tested.store.distrustFolder('/a')).toBe(true)
    expect(await tested.store.distrustFolder('/a')).toBe(false)
    expect(await folders()).toEqual(['/b', '/B'])
    await create('a', { cwd: '/b' })
    await tested.store.delete('a')
    expect(await folders()).toEqual(['/b', '/B'])
  })

  it('keeps the last variables that were set for a folder, and those of a session only as long as the session exists', async () => {
    const kept = async () =>
      (await tested.store.environments()).map(({ place, variables }) => [place, variables])
    await create('a')
    await tested.store.setEnvironment({ scope: 'folder', place: 'a', variables: { A: '1' } })
    await tested.store.setEnvironment({ scope: 'session', place: 'a', variables: { A: '2' } })
    await tested.store.setEnvironment({ scope: 'session', place: 'b', variables: { A: '3' } })
    await tested.store.setEnvironment({ scope: 'folder', place: 'a', variables: { B: '4\n"' } })
    expect(await kept()).toEqual([
      ['a', { B: '4\n"' }],
      ['a', { A: '2' }],
      ['b', { A: '3' }],
    ])
    await tested.store.delete('a')
    await tested.store.setEnvironment({ scope: 'session', place: 'b', variables: {} })
    expect(await tested.store.environments()).toEqual([
      { scope: 'folder', place: 'a', variables: { B: '4\n"' } },
    ])
  })

  placeCase(tested)
}

function placeCase(tested: TestedStore): void {
  it('keeps the settings of the same folder at several places apart, if it has places', async () => {
    const { store, hasPlaces } = tested
    const rule = ruleOf('r', { scope: 'project', project: '/w', place: 'machine:a' })
    await store.addRule(rule)
    expect(await store.rules()).toEqual([rule])
    if (!hasPlaces) return
    const places = ['machine:a', 'machine:b']
    for (const place of places) {
      await store.trustFolder({ folder: '/w', place, trustedAt: 1 })
      await store.setEnvironment({ scope: 'folder', place: '/w', at: place, variables: { A: place } })
    }
    expect(await store.distrustFolder('/w')).toBe(false)
    expect(await store.trustedFolders()).toEqual(
      places.map((place) => ({ folder: '/w', place, trustedAt: 1 })),
    )
    expect(await store.distrustFolder('/w', 'machine:a')).toBe(true)
    expect(await store.distrustFolder('/w', 'machine:a')).toBe(false)
    expect(await store.trustedFolders()).toEqual([{ folder: '/w', place: 'machine:b', trustedAt: 1 }])
    await store.setEnvironment({ scope: 'folder', place: '/w', at: 'machine:b', variables: {} })
    expect(await store.environments()).toEqual([
      { scope: 'folder', place: '/w', at: 'machine:a', variables: { A: 'machine:a' } },
    ])
  })
}
