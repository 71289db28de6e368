import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import postgres from 'postgres'
import type { SearchIndex } from '../../packages/server/src/core/search-index.ts'
import { createHost, type Host } from '../../packages/server/src/index.ts'
import { openPostgresNode, openPostgresStore } from '../../packages/server/src/stores/postgres/index.ts'
import { openSqliteStore } from '../../packages/server/src/stores/sqlite.ts'
import { createSqliteSearch } from '../../packages/server/src/stores/sqlite-search.ts'
import { createBenchAgent } from './bench-agent.ts'
import { answer, given } from './processes.ts'
import { type Corpus, fill } from './search-corpus.ts'
import { promptCommand } from './servers.ts'

/** A host with an index, and many sessions. They are in PostgreSQL if a URL is given, otherwise in SQLite. */
const { folder, corpus, url, scanned } = given<{
  folder: string
  corpus: Corpus
  url?: string
  /** The word for the scan of the log without an index. */
  scanned: string
}>()
mkdirSync(folder, { recursive: true })
const file = join(folder, 'parley.sqlite')
const indexFile = join(folder, 'search.sqlite')
let indexed: { ms: number; scanMs: number; bytes: number; indexBytes: number } | undefined
const opening = open()

async function open() {
  const { scanMs, sizes, ...opened } = url === undefined ? await openSqlite() : await openPostgres(url)
  const host = await createHost({ adapters: [createBenchAgent()], ...opened })
  const start = performance.now()
  await untilIndexed(host)
  indexed = { ms: performance.now() - start, scanMs, ...(await sizes()) }
  const plain = openSqliteStore({ file: join(folder, 'plain.sqlite') })
  const unindexed = await createHost({ adapters: [createBenchAgent()], store: plain })
  const close = async () => {
    await host.close()
    await unindexed.close()
    await opened.store.close()
    await plain.close()
  }
  return { host, unindexed, close }
}

async function openSqlite() {
  const filled = openSqliteStore({ file })
  await fill(filled, corpus)
  await filled.close()
  const db = new DatabaseSync(file)
  const scan = db.prepare('SELECT count(*) AS count FROM events WHERE body LIKE ?')
  const start = performance.now()
  expectFound(scan.get(`%${scanned}%`)?.count)
  const scanMs = performance.now() - start
  db.close()
  return {
    store: openSqliteStore({ file }),
    searchIndex: async (): Promise<SearchIndex> => createSqliteSearch(indexFile),
    scanMs,
    sizes: async () => ({ bytes: sizeOf(file), indexBytes: sizeOf(indexFile) }),
  }
}

async function openPostgres(url: string) {
  const filled = await openPostgresStore({ url })
  await fill(filled, corpus)
  await filled.close()
  const sql = postgres(url, { max: 1, onnotice: () => undefined })
  await sql.unsafe('VACUUM ANALYZE')
  const start = performance.now()
  const [row] = await sql.unsafe('SELECT count(*)::integer AS count FROM events WHERE body LIKE $1', [
    `%${scanned}%`,
  ])
  expectFound(row?.count)
  const scanMs = performance.now() - start
  const sizes = async () => {
    const [size] = await sql.unsafe(
      `SELECT pg_total_relation_size('events')::float AS bytes, sum(pg_total_relation_size(oid))::float AS index_bytes
       FROM pg_class WHERE relnamespace = 'parley'::regnamespace AND relkind = 'r' AND starts_with(relname, 'search_')`,
    )
    await sql.end()
    return { bytes: Number(size?.bytes), indexBytes: Number(size?.index_bytes) }
  }
  const node = await openPostgresNode({ url, node: { url: 'http://127.0.0.1:9', place: 'machine:bench' } })
  return { ...node, scanMs, sizes }
}

function expectFound(count: unknown): void {
  if (!(Number(count) > 0)) throw new Error(`The scan found no ${scanned}.`)
}

async function untilIndexed(host: Host): Promise<void> {
  while ((await host.search({ q: 'ba', limit: 1 })).pending !== undefined) await pause(50)
}

function sizeOf(name: string): number {
  return statSync(name).size + (statSync(`${name}-wal`, { throwIfNoEntry: false })?.size ?? 0)
}

const calls = {
  /**
   * The time to index all sessions, and the sizes of the database and of the index. Undefined while sessions are being
   * indexed.
   */
  async indexed() {
    await Promise.race([opening, pause(1)])
    return indexed
  },
  /** Milliseconds of each search. */
  async search(queries: readonly string[]) {
    const { host } = await opening
    const times: number[] = []
    for (const q of queries) {
      const start = performance.now()
      const { hits } = await host.search({ q, limit: 20 })
      times.push(performance.now() - start)
      if (hits.length === 0) throw new Error(`Nothing was found for ${q}.`)
    }
    return times
  },
  /** Milliseconds from a recorded prompt until a search finds it. */
  async foundAfter(round: number) {
    const { host } = await opening
    const { id } = await host.create({ agent: 'bench', cwd: folder })
    const word = `needle${round}`
    const start = performance.now()
    await host.command(id, promptCommand({ do: 'notice', count: 1, text: word }))
    for (;;) {
      const { hits } = await host.search({ q: word, limit: 1 })
      if (hits.length > 0) return performance.now() - start
      await pause(5)
    }
  },
  /** Seconds until `count` calls are recorded, each with two events, in a host with an index or without one. */
  async append({ count, isIndexed }: { count: number; isIndexed: boolean }) {
    const { host: withIndex, unindexed } = await opening
    const host = isIndexed ? withIndex : unindexed
    const { id } = await host.create({ agent: 'bench', cwd: folder })
    const start = performance.now()
    await host.command(id, promptCommand({ do: 'calls', count }))
    while ((await host.state(id)).lastTurn === undefined) await pause(1)
    const seconds = (performance.now() - start) / 1_000
    // Waits for the index, so that its work does not affect the other measurement.
    if (isIndexed) await untilIndexed(host)
    return seconds
  },
}
export type SearchCalls = typeof calls

answer(calls, async () => (await opening).close())
