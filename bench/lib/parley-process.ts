import pino from 'pino'
import { createScriptedAdapter } from '../../packages/server/src/adapters/scripted/index.ts'
import { startParley } from '../../packages/server/src/cli/start.ts'
import type { Limits } from '../../packages/server/src/core/index.ts'
import { createBenchAgent } from './bench-agent.ts'
import { answer, given } from './processes.ts'

/** The whole server in its own process, with the scripted agent and the bench agent. */
const { dataDir, ...options } = given<ParleyProcessInput>()
const token = 'bench-token-0123456789abcdef0123456789'
const parley = await startParley({
  dataDir,
  hostname: '127.0.0.1',
  port: 0,
  token,
  logger: pino({ level: 'error' }, pino.destination(2)),
  adapters: [createScriptedAdapter(), createBenchAgent()],
  ...options,
})

export type ParleyProcessInput = ServerOptions & { readonly dataDir: string }
/** With a database URL, the server is a node on PostgreSQL. Otherwise it uses SQLite. */
export type ServerOptions = {
  readonly limits?: Partial<Limits>
  readonly databaseUrl?: string
  readonly nodeUrl?: string
}

const calls = {
  address: () => ({ url: parley.http.url, token }),
  /** The memory after a garbage collection, so that only retained memory counts. */
  async memory() {
    for (let round = 0; round < 3; round++) {
      globalThis.gc?.()
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    const { rss, heapUsed, external } = process.memoryUsage()
    return { rss, heapUsed, external }
  },
}
export type ParleyCalls = typeof calls

answer(calls, () => parley.close())
