import postgres from 'postgres'
import { createHost } from '../../packages/server/src/index.ts'
import { openPostgresNode } from '../../packages/server/src/stores/postgres/index.ts'
import { createBenchAgent } from './bench-agent.ts'
import { answer, given } from './processes.ts'
import { promptCommand } from './servers.ts'
import { median } from './stats.ts'

/**
 * A host that is a node on PostgreSQL, and a bare connection of the same driver, which uses a separate table.
 */
const { databaseUrl, folder } = given<{ databaseUrl: string; folder: string }>()
const { store, ownership, shared } = await openPostgresNode({
  url: databaseUrl,
  node: { place: 'machine:bench', url: 'http://127.0.0.1:1' },
})
const host = await createHost({ adapters: [createBenchAgent()], store, ownership, shared })

const sql = postgres(databaseUrl, { onnotice: () => undefined })
await sql.unsafe(`CREATE SCHEMA bare;
  CREATE TABLE bare.sessions (key bigint PRIMARY KEY, id text UNIQUE, head bigint NOT NULL, term bigint NOT NULL);
  CREATE TABLE bare.events (key bigint, seq bigint, body text NOT NULL, PRIMARY KEY (key, seq));
  INSERT INTO bare.sessions VALUES (1, 'ses_bare', 0, 1)`)
const bareAppend = `
  WITH ok AS (UPDATE bare.sessions SET head = head + 1 WHERE id = $1 AND head = $2 AND term = $3 RETURNING key, head),
  e AS (INSERT INTO bare.events SELECT key, head, $4 FROM ok)
  SELECT key FROM ok`
let bareHead = 0
const text = 'A small thing that an agent said on its way. '.repeat(20)
const body = JSON.stringify({ type: 'agent.noticed', level: 'info', code: 'bench', text })

const calls = {
  /** The median time between two events of one session, each from one output of its agent, stored and announced. */
  async ours(count: number) {
    const { id } = await host.create({ agent: 'bench', cwd: folder })
    const ended = Promise.withResolvers<void>()
    const arrivals: number[] = []
    const stop = await host.follow(
      id,
      {},
      {
        following: () => undefined,
        caughtUp: () => undefined,
        ended: () => undefined,
        deliver(batch) {
          for (const item of batch) {
            if (item.kind !== 'event') continue
            if (item.json.includes('"type":"agent.noticed"')) arrivals.push(performance.now())
            if (item.json.includes('"type":"turn.ended"')) ended.resolve()
          }
        },
      },
    )
    await host.command(id, promptCommand({ do: 'notice', count, text }) as never)
    await ended.promise
    stop()
    if (arrivals.length !== count) throw new Error(`${arrivals.length} of ${count} events came.`)
    return median(arrivals.slice(1).map((at, index) => at - arrivals[index]!))
  },
  /** The median time of a bare append of the same text, which checks the head and the term. */
  async bare(count: number) {
    const times: number[] = []
    for (let index = 0; index < count; index++) {
      const start = performance.now()
      const rows = await sql.unsafe(bareAppend, ['ses_bare', bareHead, 1, body], { prepare: true })
      times.push(performance.now() - start)
      if (rows.length !== 1) throw new Error('The bare append was refused.')
      bareHead++
    }
    return median(times)
  },
}
export type NodeAppendsCalls = typeof calls

answer(calls, async () => {
  await host.close()
  await store.close()
  await sql.end()
})
