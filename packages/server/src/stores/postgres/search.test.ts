import { expect, it } from 'vitest'
import { searchIndexContract } from '../../testing/search-index-contract.ts'
import { stateOf } from '../../testing/store-samples.ts'
import { PostgresDatabase } from './database.ts'
import { openPostgresStore } from './index.ts'
import { PostgresServer } from './postgres-under-test.ts'
import { createPostgresSearch } from './search.ts'

const server = await PostgresServer.forFile()
const url = await server.database()
let schemas = 0

async function open() {
  const schema = `search_${++schemas}`
  const store = await openPostgresStore({ url, schema, connections: 4 })
  const database = await PostgresDatabase.unchanged({ url, schema, connections: 5 })
  return {
    store,
    index: createPostgresSearch(database),
    addSession: (sessionId: string, epoch: string) =>
      store
        .create({ sessionId, epoch, state: stateOf(sessionId), events: [] })
        .catch((error) => expect(error).toMatchObject({ code: 'conflict' })),
    async cleanup() {
      await database.close()
      await store.close()
    },
  }
}

searchIndexContract('the index in PostgreSQL', open)

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
