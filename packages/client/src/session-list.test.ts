import type { ServerResponse } from 'node:http'
import { emptyState, type SessionSummary, summarise } from '@parley/protocol'
import { expect, test } from 'vitest'
import { prompt, startRealServer } from '../testing/real-server.ts'
import { startWirePeer } from '../testing/wire-peer.ts'
import { type Client, createClient } from './client.ts'
import type { LiveStore } from './live-store.ts'
import { withChange } from './session-list.ts'

const row = (id: string, fields: Partial<SessionSummary> = {}): SessionSummary => ({
  ...summarise(emptyState(id, 'e')),
  ...fields,
})
const changed = (summary: SessionSummary) => ({ session: summary.id, change: 'changed' as const, summary })
const ids = (sessions: readonly SessionSummary[]) => sessions.map((session) => session.id)

test('the list has pinned sessions first, then the most recently changed', () => {
  const rows = [
    row('pin', { pinned: true, updatedAt: 1 }),
    row('new', { updatedAt: 5 }),
    row('old', { updatedAt: 2 }),
  ]
  expect(ids(withChange(rows, changed(row('old', { updatedAt: 9, seq: 1 }))))).toEqual(['pin', 'old', 'new'])
  expect(ids(withChange(rows, changed(row('more', { updatedAt: 3 }))))).toEqual(['pin', 'new', 'more', 'old'])
})

test('a change that is older than what is shown, or does not match the query, changes nothing', () => {
  const rows = [row('a', { seq: 5, title: 'now' })]
  expect(withChange(rows, changed(row('a', { seq: 4, title: 'then' })))).toBe(rows)
  expect(withChange(rows, changed(row('b', { archived: true })))).toBe(rows)
  expect(withChange(rows, { session: 'c', change: 'deleted' })).toBe(rows)
})

test('a session keeps its known place if a change contains no place', () => {
  const placed = [row('a', { seq: 1, place: 'machine:desk' })]
  const places = (change: Partial<SessionSummary>) =>
    withChange(placed, changed(row('a', { seq: 2, ...change }))).map(({ place }) => place)
  expect(places({})).toEqual(['machine:desk'])
  expect(places({ place: 'machine:other' })).toEqual(['machine:desk'])
  expect(withChange([], changed(row('b', { place: 'machine:new' })))[0]?.place).toBe('machine:new')
})

test('a session that no longer matches the query is removed', () => {
  const rows = [row('a'), row('b')]
  expect(ids(withChange(rows, { session: 'a', change: 'deleted' }))).toEqual(['b'])
  expect(ids(withChange(rows, changed(row('a', { seq: 1, archived: true }))))).toEqual(['b'])
  expect(ids(withChange(rows, changed(row('a', { seq: 1, status: 'working' })), { status: 'idle' }))).toEqual(
    ['b'],
  )
})

function until<Snapshot>(
  store: LiveStore<Snapshot>,
  holds: (snapshot: Snapshot) => boolean,
): Promise<Snapshot> {
  return new Promise((resolve) => {
    const look = () => {
      if (!holds(store.getSnapshot())) return
      forget()
      resolve(store.getSnapshot())
    }
    const forget = store.subscribe(look)
    look()
  })
}

const shows = async (client: Client) =>
  (await client.call('listSessions', { query: { limit: 500 } })).sessions

test('the list follows the server, even after a disconnect', async () => {
  await using server = await startRealServer()
  const [first, second] = [await server.create('first'), await server.create('second')]
  const client = server.client()
  const list = client.sessions()
  await until(list, ({ status, sessions }) => status === 'live' && sessions.length === 2)
  await client.call('patchSession', { params: { id: first }, body: { pinned: true, title: 'renamed' } })
  await until(list, ({ sessions }) => sessions[0]?.id === first && sessions[0].title === 'renamed')
  await client.prompt(second, 'hello')
  await until(list, ({ sessions }) =>
    sessions.some(({ id, seq, status }) => id === second && seq > 3 && status === 'idle'),
  )

  server.proxy.refuse()
  await until(list, ({ status }) => status === 'reconnecting')
  const third = await server.create('third')
  await server.host.delete(second)
  server.proxy.accept()
  const { sessions } = await until(list, ({ status, sessions }) => status === 'live' && sessions.length === 2)
  expect(ids(sessions)).toEqual([first, third])
  expect(sessions).toEqual(await shows(client))
  list.close()
  expect((await until(list, ({ status }) => status === 'closed')).status).toBe('closed')
})

test('a change that comes while a page is loading is not undone by the page', async () => {
  const asked = Promise.withResolvers<ServerResponse>()
  await using peer = await startWirePeer({ respond: (_, response) => asked.resolve(response) })
  using client = createClient({ url: peer.url })
  const list = client.sessions()
  const other = await peer.accept()
  const response = await asked.promise
  other.send({ type: 'session-changed', ...changed(row('renamed', { seq: 2, title: 'new' })) })
  other.send({ type: 'session-changed', session: 'gone', change: 'deleted' })
  await until(list, ({ sessions }) => sessions.length === 1)
  response.end(JSON.stringify({ sessions: [row('gone'), row('renamed', { seq: 1, title: 'old' })] }))
  const { sessions } = await until(list, ({ status }) => status === 'live')
  expect(sessions).toEqual([row('renamed', { seq: 2, title: 'new' })])
})

test('the list loads pages, and a search is updated', async () => {
  await using server = await startRealServer()
  for (let index = 0; index < 7; index++) await server.create(index % 2 ? `odd ${index}` : `even ${index}`)
  const client = server.client()
  const list = client.sessions({ limit: 3 })
  expect(await until(list, ({ status }) => status === 'live')).toMatchObject({ hasMore: true })
  await list.loadMore()
  await list.loadMore()
  const whole = await until(list, ({ hasMore }) => !hasMore)
  expect(whole.sessions).toEqual(await shows(client))

  const search = client.sessions({ q: 'odd' })
  const found = await until(search, ({ status }) => status === 'live')
  expect(found.sessions).toHaveLength(3)
  await server.create('another odd one')
  expect((await until(search, ({ sessions }) => sessions.length === 4)).sessions[0]?.title).toBe(
    'another odd one',
  )
})

test('a wrong token makes the list fail', async () => {
  await using server = await startRealServer()
  const client = server.client({ token: 'wrong' })
  const [list, waiting] = [client.sessions(), client.waiting()]
  expect(await until(list, ({ status }) => status === 'failed')).toMatchObject({
    error: { code: 'unauthorized' },
  })
  expect(await until(waiting, ({ status }) => status === 'failed')).toMatchObject({
    error: { code: 'unauthorized' },
  })
})

test('the waiting list has every request until it is answered', async () => {
  await using server = await startRealServer()
  const [one, other] = [await server.create('one'), await server.create('other')]
  const client = server.client()
  const waiting = client.waiting()
  const ask = prompt({ type: 'permission', name: 'Write', kind: 'edit', input: {}, output: ['ok'] })
  await Promise.all([client.prompt(one, ask), client.prompt(other, ask)])
  const { requests } = await until(waiting, ({ requests }) => requests.length === 2)
  expect(requests.map(({ session }) => session.id).toSorted()).toEqual([one, other].toSorted())
  for (const { session, request } of requests) await client.decide(session.id, request.requestId, 'allow')
  expect((await until(waiting, ({ requests }) => requests.length === 0)).status).toBe('live')
})
