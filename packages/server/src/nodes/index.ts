import type { IncomingMessage } from 'node:http'
import { ParleyError } from '@parley/protocol'
import type { Host, OwnerFeed } from '../core/index.ts'
import type { OtherNodes } from '../faces/other-nodes.ts'
import type { PostgresOwnership } from '../stores/postgres/ownership.ts'
import { Membership } from './membership.ts'
import type { NodeLog } from './node-log.ts'
import type { NodeMetrics } from './node-metrics.ts'
import { createOwnerFeed } from './owner-feed.ts'
import { PassOn } from './pass-on.ts'
import { challengeHeader, PeerCredential, proofHeader } from './peer-credential.ts'
import { PeerLinks } from './peer-links.ts'
import { createPeerHost, createRoutingHost } from './routing-host.ts'

type NodesOptions = {
  readonly ownership: PostgresOwnership
  /** The token that all nodes share. */
  readonly token: string
  /** The address at which the other nodes reach this node. */
  readonly url: () => string
  readonly metrics: NodeMetrics
  readonly log: NodeLog
  readonly problem: (error: unknown, doing: string) => void
  /** The time for which a request is tried again while the owner of its session changes. The default is 10 seconds. */
  readonly patienceMs?: number | undefined
}

/** This server as one node among several on a database. */
export type Nodes = {
  readonly credential: PeerCredential
  /** Follows sessions that other nodes own; for the host of this node. */
  readonly ownerFeed: OwnerFeed
  /** Wraps the host of this node: for people, for the other nodes, and for requests that are passed on. */
  hostsOn(host: Host): NodeHosts
  /** Sends a command to the owner of a session; for the host of this node. */
  readonly commandAnywhere: Host['command']
  /** Starts to watch the other nodes, and to take over their sessions when they are gone. */
  watch(host: Host): void
  close(): Promise<void>
}

export type NodeHosts = {
  /** Performs operations at the owner of a session. */
  readonly host: Host
  readonly peers: PeerSide
  /** Passes requests on for the faces of this node. */
  readonly otherNodes: OtherNodes
}

export type PeerSide = {
  readonly host: Host
  accepts(bearer: string): boolean
  answerHeaders(request: IncomingMessage): Record<string, string>
}

export function createNodes(options: NodesOptions): Nodes {
  const { ownership, token, url, metrics, log, problem, patienceMs = 10_000 } = options
  const credential = new PeerCredential(token, url, ownership.numbers)
  const links = new PeerLinks(credential, (peer) => log.otherToken(peer))
  const closing = new AbortController()
  let membership: Membership | undefined
  let routing: Host | undefined
  return {
    credential,
    ownerFeed: createOwnerFeed(ownership, links),
    async commandAnywhere(sessionId, command, by) {
      if (routing) return routing.command(sessionId, command, by)
      throw new ParleyError('busy', 'This node is starting. Try again soon.')
    },
    watch(host) {
      const takeOver = async () => {
        const sessions = await host.adopt()
        metrics.tookOver(sessions)
        return sessions
      }
      membership = new Membership({ register: ownership, links, url, takeOver, log, problem })
    },
    hostsOn(host) {
      routing = createRoutingHost({
        host,
        directory: ownership,
        links,
        credential,
        metrics,
        patienceMs,
        closing: closing.signal,
      })
      return {
        host: routing,
        otherNodes: new PassOn({ directory: ownership, credential, url, token }),
        peers: {
          host: createPeerHost(host),
          accepts: (bearer) => credential.accepts(bearer),
          answerHeaders({ headers }) {
            // Only a node gets a proof. The caller has checked the bearer.
            const isNode = headers.authorization?.startsWith('Bearer node.')
            const challenge = headers[challengeHeader]
            return isNode && typeof challenge === 'string'
              ? { [proofHeader]: credential.prove(challenge) }
              : {}
          },
        },
      }
    },
    async close() {
      closing.abort()
      await membership?.close()
      links.close()
    },
  }
}
