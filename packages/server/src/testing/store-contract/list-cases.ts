import { defined } from '@parley/protocol'
import type { SessionQuery, SessionStore } from '../../core/session-store.ts'
import { expect, it } from '../peers.ts'
import { requestOf, stateOf } from '../store-samples.ts'
import type { TestedStore } from './tested-store.ts'

/** The part of the store contract about listing sessions. */
export function listCases(tested: TestedStore): void {
  const { create } = tested
  const listed = (query: Omit<SessionQuery, 'limit'>) => listedBy(tested, query)

  filterCases(tested)
  limitCases(tested)
  pageCases(tested)

  it('has pinned sessions first, then the most recently changed ones; ties are sorted by id', async () => {
    await create('c', { updatedAt: 5 })
    await create('a', { updatedAt: 5 })
    await create('old', { updatedAt: 1 })
    await create('old but pinned', { updatedAt: 2, pinned: true })
    await create('new', { updatedAt: 9 })
    expect(await listed({})).toEqual(['old but pinned', 'new', 'a', 'c', 'old'])
    await tested.store.append({ sessionId: 'old', events: [], state: stateOf('old', { updatedAt: 10 }) })
    expect(await listed({})).toEqual(['old but pinned', 'old', 'new', 'a', 'c'])
  })

  it('returns summaries of the stored states', async () => {
    const forkedFrom = { sessionId: 'z', seq: 3 }
    await create('a', { title: 'T', cwd: '/w', agent: 'demo', forkedFrom, requests: [requestOf('q', 1)] })
    const [summary] = (await tested.store.list({ limit: 1 })).sessions
    expect(summary).toEqual({
      ...{ id: 'a', epoch: 'epoch of a', seq: 0, createdAt: 0, updatedAt: 0, agent: 'demo', cwd: '/w' },
      ...{ title: 'T', archived: false, pinned: false, status: 'idle', forkedFrom, waiting: 1 },
    })
  })

  it('is empty if there are no sessions', async () => {
    expect(await tested.store.list({ limit: 5 })).toEqual({ sessions: [] })
  })
}

function filterCases(tested: TestedStore): void {
  const { create } = tested
  const listed = (query: Omit<SessionQuery, 'limit'>) => listedBy(tested, query)

  it('filters by agent, status and archive', async () => {
    await create('a', { agent: 'demo', status: 'working' })
    await create('b', { agent: 'demo', archived: true })
    await create('c', { agent: 'other' })
    expect(await listed({})).toEqual(['a', 'b', 'c'])
    expect(await listed({ agent: 'demo' })).toEqual(['a', 'b'])
    expect(await listed({ status: 'idle' })).toEqual(['b', 'c'])
    expect(await listed({ archived: true })).toEqual(['b'])
    expect(await listed({ archived: false })).toEqual(['a', 'c'])
    expect(await listed({ agent: 'demo', status: 'idle', archived: false })).toEqual([])
  })

  it('finds words in title, folder and agent, case-insensitively and without wildcards', async () => {
    await create('a', { title: 'Fix the Über parser', cwd: '/home/me/Parley', agent: 'demo' })
    await create('b', { title: '100% sure_thing', cwd: '/home/me/other', agent: 'codex' })
    await create('c', { title: 'it\'s a \\ "quote"', cwd: '/x', agent: 'demo' })
    expect(await listed({ q: 'PARSER' })).toEqual(['a'])
    expect(await listed({ q: ' über\t parley  ' })).toEqual(['a'])
    expect(await listed({ q: 'home' })).toEqual(['a', 'b'])
    expect(await listed({ q: 'home codex' })).toEqual(['b'])
    expect(await listed({ q: 'fix codex' })).toEqual([])
    expect(await listed({ q: '0%' })).toEqual(['b'])
    expect(await listed({ q: '%' })).toEqual(['b'])
    expect(await listed({ q: '_' })).toEqual(['b'])
    expect(await listed({ q: '\\' })).toEqual(['c'])
    expect(await listed({ q: `it's "quote"` })).toEqual(['c'])
    expect(await listed({ q: '   ' })).toEqual(['a', 'b', 'c'])
    expect(await listed({ q: 'demo', agent: 'codex' })).toEqual([])
  })

  it('finds the sessions that continue conversations of an agent', async () => {
    const connection = (agentSessionId: string) => ({ connection: { connectionId: 'c', agentSessionId } })
    await create('older', { agent: 'x', updatedAt: 1, pinned: true, ...connection('one') })
    await create('newer', { agent: 'x', updatedAt: 2, ...connection('one') })
    await create('archived', { agent: 'x', archived: true, ...connection('two') })
    await create('of another', { agent: 'y', updatedAt: 9, ...connection('one') })
    await create('fork', { agent: 'x', forkPending: true, ...connection('three') })
    await create('without', { agent: 'x' })
    const ids = ['one', 'two', 'three', 'nothing', '']
    const known = async (agent: string) => Object.fromEntries(await tested.store.sessionsOf(agent, ids))
    expect(await known('x')).toEqual({ one: 'newer', two: 'archived' })
    expect(await known('y')).toEqual({ one: 'of another' })
    expect(await known('z')).toEqual({})
    expect((await tested.store.sessionsOf('x', [])).size).toBe(0)

    const forked = stateOf('fork', { agent: 'x', ...connection('copy of three') })
    await tested.store.append({ sessionId: 'fork', events: [], state: forked })
    await tested.store.append({
      sessionId: 'archived',
      events: [],
      state: stateOf('archived', { agent: 'x' }),
    })
    await tested.store.delete('newer')
    const later = await tested.store.sessionsOf('x', [...ids, 'copy of three'])
    expect(Object.fromEntries(later)).toEqual({ one: 'older', 'copy of three': 'fork' })
  })
}

function limitCases(tested: TestedStore): void {
  const { create } = tested
  const listed = (query: Omit<SessionQuery, 'limit'>) => listedBy(tested, query)

  it('lists only sessions that the limits permit, and its cursors reveal no other sessions', async () => {
    await create('a', { cwd: '/code', agent: 'x', updatedAt: 9 })
    await create('b', { cwd: '/code/in%side', agent: 'y', updatedAt: 8 })
    await create('c', { cwd: '/codeshop', agent: 'x', updatedAt: 7 })
    const folder = (path: string, place?: string) => ({ folders: [{ folder: path, ...defined({ place }) }] })
    expect(await listed({ within: {} })).toEqual(['a', 'b', 'c'])
    expect(await listed({ within: folder('/code') })).toEqual(['a', 'b'])
    expect(await listed({ within: folder('/code/in%side') })).toEqual(['b'])
    expect(await listed({ within: folder('/') })).toEqual(['a', 'b', 'c'])
    expect(await listed({ within: folder('/code', 'elsewhere') })).toEqual([])
    expect(await listed({ within: { agents: ['x', 'z'] } })).toEqual(['a', 'c'])
    expect(await listed({ within: { sessions: ['b', 'd'] } })).toEqual(['b'])
    expect(await listed({ within: { sessions: ['a', 'b'], agents: ['x'], ...folder('/code') } })).toEqual([
      'a',
    ])
    for (const within of [folder('/workshop'), { sessions: ['d'] }]) {
      const { cursor } = await tested.store.list({ within, q: 'work', limit: 1 })
      expect(cursor).toBeUndefined()
    }
  })
}

function pageCases(tested: TestedStore): void {
  const { create } = tested
  const listed = (query: Omit<SessionQuery, 'limit'>) => listedBy(tested, query)

  it('is paged without a gap or a repeat, even while sessions change', async () => {
    for (let index = 0; index < 23; index++) {
      await create(`s${index}`, {
        updatedAt: index % 5,
        pinned: index % 7 === 0,
        agent: index % 2 ? 'x' : 'y',
      })
    }
    const whole = await listed({})
    expect(await pages(tested.store, { limit: 4 })).toEqual(whole)
    expect(await pages(tested.store, { limit: 23 })).toEqual(whole)
    expect(await pages(tested.store, { limit: 3, agent: 'x' })).toEqual(await listed({ agent: 'x' }))

    const first = await tested.store.list({ limit: 10 })
    await tested.store.delete(whole[9]!)
    await create('late', { updatedAt: 99 })
    const second = await tested.store.list({ limit: 100, cursor: first.cursor! })
    expect(second.sessions.map(({ id }) => id)).toEqual(whole.slice(10))
    expect(second.cursor).toBeUndefined()
  })

  it.each([
    '',
    'nonsense',
    '%%%',
    Buffer.from('[1,2]').toString('base64url'),
    Buffer.from('["1",2,"a"]').toString('base64url'),
  ])('refuses the cursor "%s"', async (cursor) => {
    await create('a')
    await expect(tested.store.list({ limit: 5, cursor })).rejects.toMatchObject({ code: 'validation_error' })
  })
}

async function listedBy(tested: TestedStore, query: Omit<SessionQuery, 'limit'>): Promise<string[]> {
  return (await tested.store.list({ limit: 100, ...query })).sessions.map(({ id }) => id)
}

async function pages(store: SessionStore, query: SessionQuery): Promise<string[]> {
  const ids: string[] = []
  let cursor: string | undefined
  do {
    const page = await store.list({ ...query, ...(cursor !== undefined && { cursor }) })
    expect(page.sessions.length).toBeGreaterThan(0)
    expect(page.sessions.length).toBeLessThanOrEqual(query.limit)
    ids.push(...page.sessions.map(({ id }) => id))
    cursor = page.cursor
  } while (cursor !== undefined)
  return ids
}
