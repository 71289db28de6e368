import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createHost } from '../../packages/server/src/index.ts'
import { openSqliteStore } from '../../packages/server/src/stores/sqlite.ts'
import { createBenchAgent } from './bench-agent.ts'
import { answer, given } from './processes.ts'
import { promptCommand } from './servers.ts'

/** A host on SQLite and a bare SQLite file beside it, with the same settings and the same texts. */
const { folder } = given<{ folder: string }>()
mkdirSync(folder, { recursive: true })
const store = openSqliteStore({ file: join(folder, 'parley.sqlite') })
const host = await createHost({ adapters: [createBenchAgent()], store })

const bare = new DatabaseSync(join(folder, 'bare.sqlite'))
bare.exec('PRAGMA locking_mode = EXCLUSIVE')
bare.exec('PRAGMA page_size = 16384')
bare.exec('PRAGMA journal_mode = WAL')
bare.exec('PRAGMA synchronous = NORMAL')
bare.exec('PRAGMA wal_autocheckpoint = 64')
bare.exec('CREATE TABLE events (id INTEGER PRIMARY KEY, body TEXT NOT NULL)')
const insert = bare.prepare('INSERT INTO events VALUES (?, ?)')
let bareId = 0
const notice = 'A small thing that an agent said on its way.'

const calls = {
  /** Returns the seconds for `count` events of one session, each from one output of its agent. */
  async ours(count: number) {
    const { id } = await host.create({ agent: 'bench', cwd: folder })
    const ended = Promise.withResolvers<void>()
    const stop = await host.follow(
      id,
      {},
      {
        following: () => undefined,
        caughtUp: () => undefined,
        ended: () => undefined,
        deliver(batch) {
          if (batch.some((item) => item.kind === 'event' && item.json.includes('"type":"turn.ended"')))
            ended.resolve()
        },
      },
    )
    const start = performance.now()
    await host.command(id, promptCommand({ do: 'notice', count, text: notice }) as never)
    await ended.promise
    const seconds = (performance.now() - start) / 1000
    stop()
    const { head } = await host.read(id, { limit: 1 })
    if (head < count) throw new Error(`${head} of ${count} events were stored.`)
    return seconds
  },
  /** Returns the seconds for the same texts in plain SQLite, with one insert per transaction. */
  bare(count: number) {
    const start = performance.now()
    for (let index = 0; index < count; index++) {
      insert.run(
        ++bareId,
        `1760000000000,"turnId":"trn_0123456789abcdef01234567","type":"agent.noticed","level":"info","code":"bench","text":"${notice}"}`,
      )
    }
    return (performance.now() - start) / 1000
  },
}
export type AppendsCalls = typeof calls

answer(calls, async () => {
  await host.close()
  await store.close()
  bare.close()
})
