import { expect, it } from 'vitest'
import type { SearchIndex } from '../../core/search-index.ts'
import { searchIndexContract } from '../../testing/search-index-contract.ts'
import { stateOf } from '../../testing/store-samples.ts'
import { PostgresDatabase } from './database.ts'
import { openPostgresStore } from './index.ts'
import { PostgresServer } from './postgres-under-test.ts'
import { postgresMigrations } from './schema.ts'
import { createPostgresSearch } from './search.ts'
import { wordsIn } from './search-encoding.ts'

const server = await PostgresServer.forFile()
const url = await server.database()
let schemas = 0

/** With these sizes, a few entries are enough for segments of several rows and for merges of several steps. */
const smallest = { gather: 3, merge: 2, rowBytes: 16, rowsAtOnce: 2 }

async function open(sizes = {}) {
  const schema = `search_${++schemas}`
  const store = await openPostgresStore({ url, schema, connections: 4 })
  const database = await PostgresDatabase.unchanged({ url, schema, connections: 5 })
  const index = createPostgresSearch(database, sizes)
  return {
    schema,
    store,
    database,
    index,
    addSession: (sessionId: string, epoch: string) =>
      store
        .create({ sessionId, epoch, state: stateOf(sessionId), events: [] })
        .catch((error) => expect(error).toMatchObject({ code: 'conflict' })),
    async cleanup() {
      await index.close()
      await database.close()
      await store.close()
    },
  }
}

searchIndexContract('the index in PostgreSQL', async () => {
  const { index, ...opened } = await open(smallest)
  const settle = async <Result>(work: Promise<Result>) => {
    const result = await work
    await index.settled()
    return result
  }
  const add: SearchIndex['add'] = (step) => settle(index.add(step))
  const remove: SearchIndex['remove'] = (session) => settle(index.remove(session))
  return { ...opened, index: { ...index, add, remove } }
})

const wordsStored = async (database: PostgresDatabase) => {
  const rows = await database.read<{ body: Buffer }>('SELECT body FROM search_words')
  const newest = await database.read<{ word: string }>(
    'SELECT unnest(tsvector_to_array(words)) AS word FROM search_entries',
  )
  return [
    ...rows.flatMap(({ body }) => [...wordsIn(body)].map(([word]) => word)),
    ...newest.map(({ word }) => word),
  ]
}

it('keeps every entry while two nodes add, merge and lose their connections', async () => {
  const { schema, index, addSession, cleanup, database } = await open(smallest)
  const otherDatabase = await PostgresDatabase.unchanged({ url, schema, connections: 5 })
  const nodes = [index, createPostgresSearch(otherDatabase, smallest)]
  const rounds = 12
  let ended = 0
  const endConnection = async () => {
    const rows = await server.admin(
      (sql) =>
        sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'parley'
            AND datname = current_database() AND query LIKE '%search_%' ORDER BY state LIMIT 1`,
      url,
    )
    ended += rows.length
  }
  const fill = async (session: string, node: SearchIndex) => {
    for (let seq = 1; seq <= rounds; ) {
      const from = seq === 1 ? undefined : { epoch: 'epo_1', seq: seq - 1 }
      const entries = [{ seq, kind: 'answer' as const, words: `common ${session.slice(4)} word${seq}` }]
      const step = { session, agent: 'demo', folder: '/', from, to: { epoch: 'epo_1', seq }, entries }
      // A lost connection can lose the answer to a step that was stored.
      await Promise.all([node.add(step).catch(() => undefined), seq % 4 === 0 && endConnection()])
      seq = ((await node.cursor(session).catch(() => undefined))?.seq ?? seq - 1) + 1
      const query = { words: ['common', session.slice(4)], isLastPrefix: false, limit: 100 }
      const found = await node.find(query).catch(() => undefined)
      if (!found) continue
      // A step whose answer was lost can be stored later.
      expect(found.hits.length).toBeGreaterThanOrEqual(seq - 1)
      expect(found.hits.map((hit) => hit.seq)).toEqual(downFrom(found.hits.length))
    }
  }
  const downFrom = (count: number) => Array.from({ length: count }, (_, n) => count - n)
  const sessions = Array.from({ length: 6 }, (_, n) => `ses_${n}`)
  for (const session of sessions) await addSession(session, 'epo_1')
  await Promise.all(sessions.map((session, n) => fill(session, nodes[n % 2] ?? index)))
  expect(ended).toBeGreaterThan(0)
  const settled = () => Promise.allSettled(nodes.map((node) => node.settled()))
  const seqsOf = async (words: string[]) => {
    const { hits } = await index.find({ words, isLastPrefix: false, limit: 1_000 })
    return hits.map(({ session, seq }) => `${session}:${seq}`).sort()
  }
  const all = sessions
    .flatMap((session) => Array.from({ length: rounds }, (_, n) => `${session}:${n + 1}`))
    .sort()
  for (let check = 0; check < 2; check++) {
    expect(await seqsOf(['common'])).toEqual(all)
    expect(await seqsOf(['common', '3'])).toEqual(all.filter((one) => one.startsWith('ses_3')))
    expect(await seqsOf(['word7', 'common'])).toEqual(all.filter((one) => one.endsWith(':7')))
    await settled()
  }
  await Promise.all(sessions.slice(1).map((session, n) => nodes[n % 2]?.remove(session)))
  const isRemoved = (word: string) => sessions.slice(1).includes(`ses_${word}`)
  while ((await wordsStored(database)).some(isRemoved)) await settled()
  expect(await seqsOf(['common'])).toEqual(all.filter((one) => one.startsWith('ses_0')))
  for (const node of nodes) await node.close()
  await otherDatabase.close()
  await cleanup()
})

it('forgets a session in the transaction that deletes or redacts it, and accepts no older step', async () => {
  const { store, index, addSession, cleanup } = await open()
  const entries = [{ seq: 1, kind: 'answer' as const, words: 'word' }]
  const add = (session: string, epoch: string) =>
    index.add({ session, agent: 'demo', folder: '/', from: undefined, to: { epoch, seq: 1 }, entries })
  const hits = async () => (await index.find({ words: ['word'], isLastPrefix: false, limit: 9 })).hits
  for (const session of ['ses_1', 'ses_2']) {
    await addSession(session, 'epo_1')
    expect(await add(session, 'epo_1')).toBe(true)
  }
  await store.append({ sessionId: 'ses_2', events: [{ seq: 1, json: '{"seq":1}' }] })
  await store.delete('ses_1')
  const event = { seq: 1, json: '{"seq":1,"redacted":true}' }
  await store.redact({ sessionId: 'ses_2', events: [event], epoch: 'epo_2', state: stateOf('ses_2') })
  expect(await hits()).toEqual([])
  for (const session of ['ses_1', 'ses_2']) expect(await add(session, 'epo_1')).toBe(false)
  expect(await hits()).toEqual([])
  expect(await add('ses_2', 'epo_2')).toBe(true)
  expect(await hits()).toHaveLength(1)
  await cleanup()
})

it('an index of an earlier version is emptied, and its sessions are indexed again', async () => {
  const schema = `search_${++schemas}`
  const earlier = await openPostgresStore({ url, schema, migrations: postgresMigrations.slice(0, 9) })
  await earlier.create({ sessionId: 'ses_1', epoch: 'epo_1', state: stateOf('ses_1'), events: [] })
  await earlier.close()
  await server.admin(
    (sql) =>
      sql.unsafe(
        `INSERT INTO ${schema}.search_cursors (session, agent, folder, epoch, seq) VALUES ('ses_1', 'demo', '/', 'epo_1', 1);
         INSERT INTO ${schema}.search_entries (session_key, seq, kind, words) VALUES (1, 1, 0, 'word')`,
      ),
    url,
  )
  await (await openPostgresStore({ url, schema })).close()
  const database = await PostgresDatabase.unchanged({ url, schema })
  const index = createPostgresSearch(database)
  const hits = async () => (await index.find({ words: ['word'], isLastPrefix: false, limit: 9 })).hits
  expect([await hits(), await index.cursors()]).toEqual([[], new Map()])
  const to = { epoch: 'epo_1', seq: 1 }
  const entries = [{ seq: 1, kind: 'answer' as const, words: 'word' }]
  expect(
    await index.add({ session: 'ses_1', agent: 'demo', folder: '/', from: undefined, to, entries }),
  ).toBe(true)
  expect(await hits()).toHaveLength(1)
  await index.close()
  await database.close()
})
