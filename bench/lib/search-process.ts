import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createHost, type Host } from '../../packages/server/src/index.ts'
import { openSqliteStore } from '../../packages/server/src/stores/sqlite.ts'
import { createSqliteSearch } from '../../packages/server/src/stores/sqlite-search.ts'
import { createBenchAgent } from './bench-agent.ts'
import { answer, given } from './processes.ts'
import { type Corpus, fill } from './search-corpus.ts'

/** A host on SQLite with an index, and many sessions. */
const { folder, corpus } = given<{ folder: string; corpus: Corpus }>()
mkdirSync(folder, { recursive: true })
const file = join(folder, 'parley.sqlite')
const indexFile = join(folder, 'search.sqlite')
const store = openSqliteStore({ file })
let indexedMs: number | undefined
const opening = open()

async function open(): Promise<Host> {
  await fill(store, corpus)
  const host = await createHost({
    adapters: [createBenchAgent()],
    store,
    searchIndex: async () => createSqliteSearch(indexFile),
  })
  const start = performance.now()
  while ((await host.search({ q: 'ba', limit: 1 })).pending !== undefined) await pause(50)
  indexedMs = performance.now() - start
  return host
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
    if (indexedMs === undefined) return undefined
    return { ms: indexedMs, bytes: sizeOf(file), indexBytes: sizeOf(indexFile) }
  },
  /** Milliseconds of each search. */
  async search(queries: readonly string[]) {
    const host = await opening
    const times: number[] = []
    for (const q of queries) {
      const start = performance.now()
      const { hits } = await host.search({ q, limit: 20 })
      times.push(performance.now() - start)
      if (hits.length === 0) throw new Error(`Nothing was found for ${q}.`)
    }
    return times
  },
  /** Milliseconds to look at the text of the events of some sessions, as a search without an index would. */
  async scan({ word, sessions }: { word: string; sessions: number }) {
    const start = performance.now()
    let found = 0
    for (const { id, seq } of (await store.list({ limit: sessions })).sessions)
      for (const { json } of await store.read(id, { limit: seq })) if (json.includes(word)) found++
    return { ms: performance.now() - start, found }
  },
  /** Milliseconds from a recorded prompt until a search finds it. */
  async foundAfter(round: number) {
    const host = await opening
    const { id } = await host.create({ agent: 'bench', cwd: folder })
    const word = `needle${round}`
    const start = performance.now()
    await host.command(id, {
      commandId: word,
      type: 'prompt.submit',
      text: `{"do":"notice","count":1,"text":"${word}"}`,
    })
    for (;;) {
      const { hits } = await host.search({ q: word, limit: 1 })
      if (hits.length > 0) return performance.now() - start
      await pause(5)
    }
  },
}
export type SearchCalls = typeof calls

answer(calls, async () => {
  await (await opening).close()
  await store.close()
})
