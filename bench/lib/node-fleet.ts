import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openPostgresStore } from '../../packages/server/src/stores/postgres/index.ts'
import { PostgresServer } from '../../packages/server/src/stores/postgres/postgres-under-test.ts'
import { seedSession } from './seed.ts'
import { type ParleyServer, startParleyServer } from './servers.ts'

/** Unlike in the tests, PostgreSQL waits for the disk, as it does in a real installation. */
const setup = { settings: ['fsync=on', 'shared_buffers=256MB'], files: {} }
const limits = { maxConnections: 2_000 }

/** Three nodes on one PostgreSQL server, each in its own process. */
export class NodeFleet implements AsyncDisposable {
  readonly postgres: PostgresServer
  readonly databaseUrl: string
  readonly nodes: ParleyServer[] = []
  readonly #folder: string
  #started = 0

  private constructor(postgres: PostgresServer, databaseUrl: string, folder: string) {
    this.postgres = postgres
    this.databaseUrl = databaseUrl
    this.#folder = folder
  }

  static async open(folder: string): Promise<NodeFleet> {
    const postgres = await PostgresServer.open(setup)
    const fleet = new NodeFleet(postgres, await postgres.database(), folder)
    // The first node creates the tables; the other nodes can then start in parallel.
    fleet.nodes.push(await fleet.start())
    fleet.nodes.push(...(await Promise.all([fleet.start(), fleet.start()])))
    return fleet
  }

  /** Starts another node, which the caller must stop. */
  start(options: { readonly databaseUrl?: string; readonly nodeUrl?: string } = {}): Promise<ParleyServer> {
    const dataDir = join(this.#folder, `node-${++this.#started}`)
    mkdirSync(dataDir)
    return startParleyServer(dataDir, { limits, databaseUrl: this.databaseUrl, ...options })
  }

  /** Stores `count` sessions that no node owns. */
  async seed(count: number): Promise<void> {
    const database = new URL(this.databaseUrl).pathname.slice(1)
    const commits = (value: string) =>
      this.postgres.admin((sql) => sql.unsafe(`ALTER DATABASE ${database} SET synchronous_commit = ${value}`))
    await commits('off')
    const store = await openPostgresStore({ url: this.databaseUrl })
    const numbers = Array.from({ length: count }, (_, index) => index).values()
    const write = async () => {
      for (const number of numbers)
        await seedSession(store, { id: `ses_seeded-${number}`, events: 4 }, this.#folder)
    }
    await Promise.all(Array.from({ length: 10 }, write))
    await store.close()
    await commits('on')
    await this.postgres.admin((sql) => sql.unsafe('VACUUM ANALYZE'), this.databaseUrl)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.nodes.map(({ remote }) => remote.stop()))
    await this.postgres[Symbol.asyncDispose]()
  }
}
