import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { type Client, createClient } from '@parley/client'
import type { Lease } from '../../packages/server/src/stores/postgres/ownership.ts'
import { PostgresServer } from '../../packages/server/src/stores/postgres/postgres-under-test.ts'
import { TcpProxy } from '../../packages/server/src/testing/tcp-proxy.ts'
import { TemporaryFolder } from '../../packages/server/src/testing/temporary-folder.ts'
import { KillableServer, sleep } from './killable-server.ts'

/**
 * Records, in the database, the term under which each event was stored and each change of a session's owner, so that a
 * test can check them afterwards.
 */
const audit = `
  CREATE TABLE parley.event_terms (session_key bigint, seq bigint, term bigint, owner integer);
  CREATE FUNCTION parley.record_term() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO parley.event_terms
      SELECT NEW.session_key, NEW.seq, s.term, s.owner FROM parley.sessions s WHERE s.key = NEW.session_key;
    RETURN NULL;
  END $$;
  CREATE TRIGGER record_term AFTER INSERT ON parley.events FOR EACH ROW EXECUTE FUNCTION parley.record_term();
  CREATE TABLE parley.falls (session_id text, old_term bigint, new_term bigint, old_head bigint, new_head bigint);
  CREATE FUNCTION parley.record_fall() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO parley.falls VALUES (NEW.id, OLD.term, NEW.term, OLD.head, NEW.head);
    RETURN NULL;
  END $$;
  CREATE TRIGGER record_fall AFTER UPDATE ON parley.sessions FOR EACH ROW
    WHEN (NEW.term < OLD.term OR NEW.head < OLD.head
      OR (NEW.term = OLD.term AND NEW.owner IS NOT NULL AND NEW.owner IS DISTINCT FROM OLD.owner))
    EXECUTE FUNCTION parley.record_fall();`

/** A real server process on a shared database. Other nodes, and PostgreSQL, are reached through proxies. */
export class NodeProcess {
  readonly server = new KillableServer()
  readonly name: string
  /** The connections of other nodes to this node, and the connections of this node to PostgreSQL. */
  readonly inbound: TcpProxy
  readonly database: TcpProxy
  #client: Client | undefined
  #isListening = true

  constructor(name: string, inbound: TcpProxy, database: TcpProxy) {
    this.name = name
    this.inbound = inbound
    this.database = database
  }

  get client(): Client {
    this.#client ??= this.newClient()
    return this.#client
  }

  newClient(): Client {
    const { url, token } = this.server
    return createClient({ url, token, backoff: { baseMs: 5, maxMs: 60 } })
  }

  /** Starts the process unless it runs, and repairs its links. */
  async start(): Promise<void> {
    this.repair()
    if (!this.#isListening) await this.inbound.open()
    this.#isListening = true
    if (this.server.isRunning) return
    await this.server.start()
    this.inbound.target = this.server.port
  }

  /** Resumes the process, and lets its links deliver the data that they have held back. */
  repair(): void {
    this.server.signal('SIGCONT')
    this.inbound.resume()
    this.database.resume()
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    await this.server.end(signal)
    // Nothing listens any more, so connections are refused as they would be without the proxy.
    await this.refuse()
  }

  /** Refuses connections of other nodes until `start`. */
  async refuse(): Promise<void> {
    this.#isListening = false
    await this.inbound.close()
  }

  async dispose(): Promise<void> {
    this.#client?.close()
    this.server.signal('SIGCONT')
    await this.server.dispose()
    await this.inbound.close()
    await this.database.close()
  }
}

export type NodesOptions = {
  readonly lease?: Lease
  /** The environment of Claude on each node. */
  readonly claudeEnvironment?: Readonly<Record<string, string>>
  /** Variables of every node, in addition to those of the test. */
  readonly environment?: Readonly<Record<string, string | undefined>>
}

/** Three nodes on one machine: they share a PostgreSQL, a token and the conversations of the scripted agent. */
export class NodesFixture implements AsyncDisposable {
  readonly postgres: PostgresServer
  readonly databaseUrl: string
  readonly folder = new TemporaryFolder()
  readonly nodes: readonly [NodeProcess, NodeProcess, NodeProcess]
  readonly balancer: LoadBalancer

  private constructor(parts: Pick<NodesFixture, 'postgres' | 'databaseUrl' | 'nodes' | 'balancer'>) {
    this.postgres = parts.postgres
    this.databaseUrl = parts.databaseUrl
    this.nodes = parts.nodes
    this.balancer = parts.balancer
  }

  static async start({
    lease,
    claudeEnvironment = {},
    environment,
  }: NodesOptions = {}): Promise<NodesFixture> {
    const postgres = await PostgresServer.open()
    const databaseUrl = await postgres.database()
    const [a, b, c] = await Promise.all(
      ['A', 'B', 'C'].map(
        async (name) => new NodeProcess(name, await TcpProxy.open(0), await TcpProxy.open(postgres.port)),
      ),
    )
    const nodes = [a!, b!, c!] as const
    const balancer = await LoadBalancer.open(nodes)
    const fixture = new NodesFixture({ postgres, databaseUrl, nodes, balancer })
    for (const { server, inbound, database } of fixture.nodes) {
      const url = new URL(databaseUrl)
      url.port = String(database.port)
      server.claudeEnvironment = claudeEnvironment
      server.environment = {
        ...environment,
        PARLEY_DATABASE_URL: url.href,
        PARLEY_NODE_URL: inbound.url,
        PARLEY_PLACE: 'here',
        PARLEY_TEST_ALLOWED_HOST: balancer.host,
        PARLEY_TEST_TRANSCRIPTS: join(fixture.folder.path, 'transcripts'),
        ...(lease && { PARLEY_TEST_LEASE: JSON.stringify(lease) }),
      }
    }
    await fixture.allUp()
    await fixture.sql(audit)
    return fixture
  }

  get clients(): readonly Client[] {
    return this.nodes.map(({ client }) => client)
  }

  get log(): string {
    return this.nodes.map(({ name, server }) => `--- ${name}\n${server.log.slice(-3000)}`).join('\n')
  }

  /** Starts the nodes that are not running, repairs all links, and waits until each node is alive under exactly one id. */
  async allUp(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.start()))
    await this.until(async () => {
      const living = await this.living()
      return living.length === 3 && new Set(living).size === 3
    })
  }

  newFolder(name: string): string {
    const folder = join(this.folder.path, name)
    mkdirSync(folder)
    return folder
  }

  /** Runs a statement on a connection that no proxy disturbs. */
  sql<Row extends object>(text: string, ...parameters: (string | number)[]): Promise<Row[]> {
    return this.postgres.admin(async (sql) => {
      return (await sql.unsafe(text, parameters)) as unknown as Row[]
    }, this.databaseUrl)
  }

  /** Ends every connection of the nodes, as an administrator would. */
  async endConnections(): Promise<void> {
    await this.sql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'parley' AND datname = current_database()",
    )
  }

  /** The names of the nodes whose leases have not expired. */
  async living(): Promise<string[]> {
    const rows = await this.sql<{ url: string }>(
      'SELECT url FROM parley.nodes WHERE fenced_at IS NULL AND expires_at > clock_timestamp()',
    )
    return rows.map(({ url }) => this.#nameOf(url))
  }

  async owner(session: string): Promise<{ name: string; term: number; node: number }> {
    const [row] = await this.sql<{ url: string | null; term: string; id: number }>(
      `SELECT n.url, n.id, s.term FROM parley.sessions s
         LEFT JOIN parley.nodes n ON n.id = s.owner AND n.fenced_at IS NULL WHERE s.id = $1`,
      session,
    )
    return { name: this.#nameOf(row?.url ?? ''), term: Number(row?.term), node: row?.id ?? 0 }
  }

  #nameOf(url: string): string {
    return this.nodes.find(({ inbound }) => inbound.url === url)?.name ?? 'nobody'
  }

  async until(holds: () => Promise<boolean> | boolean, withinMs = 30_000): Promise<void> {
    const start = performance.now()
    while (!(await holds())) {
      if (performance.now() - start > withinMs)
        throw new Error(`The condition did not hold in time.\n${this.log}`)
      await sleep(20)
    }
  }

  /** The problems in the audit of the database: terms or heads that decreased, and events stored under an older term. */
  async termProblems(): Promise<string[]> {
    const falls = await this.sql('SELECT * FROM parley.falls')
    const late = await this.sql(
      `SELECT * FROM (SELECT t.*, lag(term) OVER (PARTITION BY session_key ORDER BY seq) AS before
         FROM parley.event_terms t) x WHERE term < before`,
    )
    const missing = await this.sql(
      `SELECT s.id, s.head, count(e.seq) AS events FROM parley.sessions s
         LEFT JOIN parley.events e ON e.session_key = s.key GROUP BY s.id, s.head HAVING s.head <> count(e.seq)`,
    )
    return [...falls, ...late, ...missing].map((row) => JSON.stringify(row))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.balancer[Symbol.asyncDispose]()
    await Promise.all(this.nodes.map((node) => node.dispose()))
    await this.postgres[Symbol.asyncDispose]()
    this.folder[Symbol.dispose]()
  }
}

/** Passes each new connection on to the next node that accepts it. */
export class LoadBalancer implements AsyncDisposable {
  readonly #nodes: readonly NodeProcess[]
  readonly #server = createServer((incoming) => this.#pass(incoming))
  readonly #sockets = new Set<Socket>()
  #next = 0

  private constructor(nodes: readonly NodeProcess[]) {
    this.#nodes = nodes
  }

  static async open(nodes: readonly NodeProcess[]): Promise<LoadBalancer> {
    const balancer = new LoadBalancer(nodes)
    balancer.#server.listen(0, '127.0.0.1')
    await once(balancer.#server, 'listening')
    return balancer
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  newClient(): Client {
    const { token } = this.#nodes[0]!.server
    return createClient({ url: `http://${this.host}`, token, backoff: { baseMs: 5, maxMs: 60 } })
  }

  #pass(incoming: Socket, attempts = this.#nodes.length): void {
    const { port } = this.#nodes[this.#next++ % this.#nodes.length]!.server
    const outgoing = connect(port, '127.0.0.1')
    let isConnected = false
    outgoing.once('connect', () => {
      isConnected = true
      this.#sockets.add(incoming).add(outgoing)
      pipeline(incoming, outgoing, incoming, () => {
        this.#sockets.delete(incoming)
        this.#sockets.delete(outgoing)
      })
    })
    outgoing.once('error', () => {
      if (isConnected || attempts === 0) incoming.destroy()
      else this.#pass(incoming, attempts - 1)
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }
}
