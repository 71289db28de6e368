import { join } from 'node:path'
import { type Logger, pino } from 'pino'
import { createScriptedAdapter } from '../adapters/scripted/index.ts'
import { fileTranscript } from '../adapters/scripted/transcript.ts'
import type { Host } from '../core/index.ts'
import { createHost } from '../create-host.ts'
import { type HttpServer, startServer } from '../faces/http/serve.ts'
import { createWebSocketFace } from '../faces/websocket/index.ts'
import { openPostgresNode, type PostgresNode } from '../stores/postgres/index.ts'
import { TcpProxy } from '../testing/tcp-proxy.ts'
import { createNodes } from './index.ts'
import { NodeLog } from './node-log.ts'
import { createNodeMetrics, type NodeMetrics } from './node-metrics.ts'

/** A node in this process: a host on PostgreSQL, with the faces that other nodes use. */
export type NodeUnderTest = {
  /** The host for people. It sends operations to the owner of the session. */
  readonly host: Host
  readonly node: PostgresNode
  readonly metrics: NodeMetrics
  readonly http: HttpServer
  readonly url: string
  /** The connections of this node to PostgreSQL, and those of other nodes to this node. */
  readonly database: TcpProxy
  readonly inbound: TcpProxy
  dispose(): Promise<void>
}

export type NodeSettings = {
  readonly databaseUrl: string
  readonly folder: string
  readonly place?: string
  readonly patienceMs?: number
  readonly token?: string
  readonly logger?: Logger
  /** The proxy of an earlier node at the same address. */
  readonly inbound?: TcpProxy
  readonly lease?: { leaseMs: number; beatMs: number; marginMs: number }
}

export async function startNode(settings: NodeSettings): Promise<NodeUnderTest> {
  const {
    folder,
    place = 'machine:here',
    token = 'the-token-of-all-nodes-0123456789abcdef',
    logger = pino({ level: 'silent' }),
    lease = { leaseMs: 5_000, beatMs: 500, marginMs: 1_000 },
  } = settings
  const databaseUrl = new URL(settings.databaseUrl)
  const database = await TcpProxy.open(Number(databaseUrl.port))
  databaseUrl.port = String(database.port)
  // The proxy listens before the server does, so that the address is known when the node registers.
  const inbound = settings.inbound ?? (await TcpProxy.open(0))
  const url = `http://127.0.0.1:${inbound.port}`
  const node = await openPostgresNode({ url: databaseUrl.href, connections: 4, node: { url, place, lease } })
  const { store, ownership } = node
  const metrics = createNodeMetrics()
  const nodes = createNodes({
    ownership,
    token,
    url: () => url,
    metrics,
    log: new NodeLog(logger),
    problem: () => undefined,
    patienceMs: settings.patienceMs ?? 60_000,
  })
  const adapters = [createScriptedAdapter({ transcript: fileTranscript(join(folder, 'transcripts')) })]
  const { ownerFeed } = nodes
  const local = await createHost({ adapters, store, ownership, ownerFeed, shared: node.shared })
  const { host, peers, otherNodes } = nodes.hostsOn(local)
  nodes.watch(local)
  const forPeople = createWebSocketFace({ host, logger, version: '0' })
  const { host: peerHost, answerHeaders } = peers
  const forPeers = createWebSocketFace({ host: peerHost, logger, version: '0', answerHeaders })
  const http = await startServer({
    ...{ host, peers, otherNodes, logger, token },
    access: store,
    decisionLinks: store,
    viewed: store,
    decideByLink: 'allow',
    hostname: '127.0.0.1',
    port: 0,
    version: '0',
    allowedHosts: [`127.0.0.1:${inbound.port}`],
    websocket: (upgrade) => (upgrade.isNode ? forPeers : forPeople).accept(upgrade),
  })
  inbound.target = http.port
  return {
    host,
    node,
    metrics,
    http,
    url,
    database,
    inbound,
    async dispose() {
      database.resume()
      forPeople.close()
      forPeers.close()
      await http.close()
      await nodes.close()
      await local.close()
      await store.close()
      await database.close()
      await inbound.close()
    },
  }
}
