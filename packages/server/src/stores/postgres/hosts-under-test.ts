import { join } from 'node:path'
import type { AgentAdapter } from '@parley/adapter-kit'
import { createScriptedAdapter } from '../../adapters/scripted/index.ts'
import { fileTranscript } from '../../adapters/scripted/transcript.ts'
import type { Host, HostOptions } from '../../core/index.ts'
import { createHost } from '../../create-host.ts'
import { afterEach } from '../../testing/peers.ts'
import { TcpProxy } from '../../testing/tcp-proxy.ts'
import { openPostgresNode, type PostgresNode } from './index.ts'
import type { PostgresServer } from './postgres-under-test.ts'

const lease = { leaseMs: 5_000, beatMs: 500, marginMs: 1_000 }

/** A host that is a node on a database, which it reaches through a proxy. */
export type NodeHost = { readonly host: Host; readonly node: PostgresNode; readonly proxy: TcpProxy }

export type NodeHostOptions = Pick<HostOptions, 'tools' | 'leftovers' | 'limits' | 'worktrees'> & {
  readonly place?: string
  readonly adapter?: (scripted: AgentAdapter) => AgentAdapter
}

/** Opens hosts in one process, each a node, with the scripted agent. They are closed after each test. */
export function nodeHosts(server: PostgresServer, folder: string) {
  const opened: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const dispose of opened.splice(0)) await dispose()
  })
  return async (url: string, options: NodeHostOptions = {}): Promise<NodeHost> => {
    const { place = 'machine:here', adapter = (scripted) => scripted, ...hostOptions } = options
    const proxy = await TcpProxy.open(server.port)
    const proxied = new URL(url)
    proxied.port = String(proxy.port)
    const self = { url: `http://127.0.0.1:${proxy.port}`, place, lease }
    const node = await openPostgresNode({ url: proxied.href, connections: 3, node: self })
    const scripted = createScriptedAdapter({ transcript: fileTranscript(join(folder, 'transcripts')) })
    const host = await createHost({ ...hostOptions, ...node, adapters: [adapter(scripted)] })
    opened.push(async () => {
      proxy.resume()
      await host.close()
      await node.store.close()
      await proxy.close()
    })
    return { host, node, proxy }
  }
}

/** Cuts a node off until it has lost its sessions, and another node has fenced it. */
export async function lose(one: NodeHost, other: NodeHost): Promise<void> {
  const { node: id } = one.node.ownership
  const lost = new Promise<void>((resolve) => one.node.ownership.onLost(resolve))
  one.proxy.stall()
  await lost
  while (id !== undefined && !(await other.node.ownership.fenceExpired()).includes(id))
    await new Promise((resolve) => setTimeout(resolve, 50))
}

export const script = (...steps: object[]) => JSON.stringify(steps)
