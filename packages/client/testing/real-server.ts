import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { applyEvents, emptyView, type SessionEvent, type SessionView } from '@parley/protocol'
import { type AccessStore, type AgentAdapter, createHost, type Host, type SessionStore } from '@parley/server'
import { pino } from 'pino'
import { createGates, type Gates } from '../../server/src/adapters/scripted/gates.ts'
import {
  createScriptedAdapter,
  type ScriptedAdapterOptions,
} from '../../server/src/adapters/scripted/index.ts'
import type { Script } from '../../server/src/adapters/scripted/script.ts'
import { type HttpServer, startServer } from '../../server/src/faces/http/serve.ts'
import { createWebSocketFace } from '../../server/src/faces/websocket/index.ts'
import type { OutboxLimits } from '../../server/src/faces/websocket/outbox.ts'
import { createMemoryStore } from '../../server/src/stores/memory.ts'
import { type Client, type ClientOptions, createClient } from '../src/client.ts'
import { type CuttableProxy, startCuttableProxy } from './cuttable-proxy.ts'

export const token = 'a-token-for-tests'

/** The real server on a memory store with the scripted agent, behind a network that can be cut. */
export type RealServer = AsyncDisposable & {
  readonly host: Host
  readonly gates: Gates
  readonly proxy: CuttableProxy
  readonly cwd: string
  /** Creates a client that connects through the proxy. */
  client(options?: Partial<ClientOptions>): Client
  create(title?: string): Promise<string>
  /** Stops the server and starts another on the same store and address. */
  restart(): Promise<void>
  /** Resolves with the whole log and its fold, read directly from the host. */
  truth(sessionId: string): Promise<{ view: SessionView; events: SessionEvent[] }>
}

export const prompt = (...script: Script) => JSON.stringify(script)

export type RealServerOptions = {
  readonly agent?: ScriptedAdapterOptions
  readonly outbox?: Partial<OutboxLimits>
}

export async function startRealServer(options: RealServerOptions = {}): Promise<RealServer> {
  const cwd = await mkdtemp(join(tmpdir(), 'parley-client-'))
  const store = createMemoryStore()
  const gates = createGates()
  const adapter = createScriptedAdapter({ gates, ...options.agent })
  const settings = { store, adapter, outbox: options.outbox ?? {} }
  let running = await start(settings)
  const { port } = running.server
  const proxy = await startCuttableProxy(running.server.url)
  const clients: Client[] = []
  return {
    get host() {
      return running.host
    },
    gates,
    proxy,
    cwd,
    client(options) {
      const backoff = { baseMs: 5, maxMs: 50 }
      const client = createClient({ url: proxy.url, token, backoff, ...options })
      clients.push(client)
      return client
    },
    async create(title) {
      const made = await running.host.create({
        agent: 'scripted',
        cwd,
        ...(title !== undefined && { title }),
      })
      return made.id
    },
    async restart() {
      await running.stop()
      running = await start(settings, port)
    },
    truth: (sessionId) => foldOfLog(running.host, sessionId),
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.close()
      await proxy[Symbol.asyncDispose]()
      await running.stop()
      await rm(cwd, { recursive: true, force: true })
    },
  }
}

type Running = { readonly host: Host; readonly server: HttpServer; stop(): Promise<void> }

type Settings = {
  readonly store: SessionStore & AccessStore
  readonly adapter: AgentAdapter
  readonly outbox: Partial<OutboxLimits>
}

async function start({ store, adapter, outbox }: Settings, port = 0): Promise<Running> {
  const logger = pino({ level: 'silent' })
  const version = 'test'
  const host = await createHost({ adapters: [adapter], store, limits: { stopGraceMs: 100 } })
  const face = createWebSocketFace({ host, logger, version, limits: outbox })
  const server = await startServer({
    host,
    hostname: '127.0.0.1',
    port,
    token,
    access: store,
    logger,
    version,
    websocket: (upgrade) => face.accept(upgrade),
    allowedHosts: ['127.0.0.1'],
    limits: { closeGraceMs: 10 },
  })
  return {
    host,
    server,
    async stop() {
      face.close()
      await server.close()
      await host.close()
    },
  }
}

async function foldOfLog(host: Host, sessionId: string) {
  const { epoch, seq } = await host.state(sessionId)
  const events: SessionEvent[] = []
  while (events.length < seq) {
    const page = await host.read(sessionId, { after: events.length, limit: 5000 })
    events.push(...page.events.map((event) => JSON.parse(event.json) as SessionEvent))
  }
  return { view: applyEvents(emptyView(sessionId, epoch), events), events }
}
