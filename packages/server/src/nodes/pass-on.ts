import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import {
  ErrorBody,
  hasCode,
  ParleyError,
  pairingCodeLength,
  pairingCodeOf,
  type ReplyOf,
  type Route,
  type RouteName,
  routes,
  type Terminal,
} from '@parley/protocol'
import {
  type AskedOfNode,
  actorHeaders,
  nodeLetters,
  type OtherNodes,
  type PassedRequest,
  type SharedTokens,
} from '../faces/other-nodes.ts'
import type { Upgrade } from '../faces/sockets.ts'
import type { PostgresOwnership } from '../stores/postgres/ownership.ts'
import { createAccessTokens } from './access-tokens.ts'
import { isNodeUrl, type PeerCredential } from './peer-credential.ts'
import { askPeer, type PeerRequest, upgradePeer } from './peer-request.ts'
import { connectSockets, copyAnswer, PeerConnections, passedHeaders, upgradeHeaders } from './relay.ts'
import { isAboutSnapshots, whereServed } from './where-served.ts'

type Directory = Pick<PostgresOwnership, 'living' | 'whereabouts'>

export type PassOnOptions = {
  readonly directory: Directory
  readonly credential: PeerCredential
  /** The address at which the other nodes reach this node. */
  readonly url: () => string
  /** The token that all nodes share. */
  readonly token: string
  readonly limits?: Partial<PassOnLimits>
}

export type PassOnLimits = {
  /** The time limit for a node to answer. */
  readonly answerMs: number
  /** The longest permitted pause within an answer. Streams send heartbeats, so they are not cut off. */
  readonly idleMs: number
  /** The time limit for a node to list its terminals. */
  readonly listMs: number
}

const defaultLimits: PassOnLimits = { answerMs: 30_000, idleMs: 60_000, listMs: 10_000 }
/** Names the address of the client in a request that is passed on. */
const clientAddressHeader = 'parley-client-address'
/** The patch of a large file. */
const maxAnswerBytes = 16 * 1024 * 1024
const maxListBytes = 1024 * 1024

const names = new Map<Route, RouteName>(
  Object.entries(routes).map(([name, route]) => [route, name as RouteName]),
)

/**
 * Passes requests on to the node that can answer them, as `whereServed` defines. Addresses come from the database only;
 * the path, the query and the body are rebuilt from the validated values.
 */
export class PassOn implements OtherNodes {
  readonly tokens: SharedTokens
  readonly #directory: Directory
  readonly #credential: PeerCredential
  readonly #url: () => string
  readonly #limits: PassOnLimits
  readonly #connections: PeerConnections

  constructor({ directory, credential, url, token, limits }: PassOnOptions) {
    this.#directory = directory
    this.#credential = credential
    this.#url = url
    this.#limits = { ...defaultLimits, ...limits }
    this.#connections = new PeerConnections(() => directory.living())
    this.tokens = createAccessTokens(token)
  }

  readonly suffix = (): string => suffixOf(this.#url())

  async answer(request: PassedRequest): Promise<boolean> {
    const answerers = await this.#nodesFor(request)
    if (!answerers) return false
    if (request.isFromNode) {
      const message = 'This request was passed on to a node that cannot answer it. Try again.'
      throw new ParleyError('conflict', message, { details: { moved: true } })
    }
    try {
      await this.#pass(request, answerers.nodes)
      return true
    } catch (error) {
      if (answerers.orHere && isUnconnected(error)) return false
      throw request.route.scope === 'open' && hasCode(error, 'busy') ? outOfReach() : error
    }
  }

  clientAddress({ headers }: IncomingMessage): string | undefined {
    return headers[clientAddressHeader]?.toString()
  }

  async upgrade(terminalId: string, upgrade: Upgrade): Promise<boolean> {
    const maker = await this.#makerOf(terminalId)
    if (!maker) return false
    const { request, socket } = upgrade
    const peer = await upgradePeer(this.#credential, {
      url: maker,
      method: 'GET',
      path: `/api/terminals/${encodeURIComponent(terminalId)}`,
      headers: upgradeHeaders(request),
      deadlineMs: this.#limits.answerMs,
    })
    if (socket.destroyed) peer.socket.destroy()
    else {
      this.#connections.add(maker, peer.socket)
      connectSockets(upgrade, peer)
    }
    return true
  }

  async ask<Name extends RouteName>(
    sessionId: string,
    name: Name,
    asked: AskedOfNode,
  ): Promise<ReplyOf<Name> | undefined> {
    const route: Route = routes[name]
    const answerers = await this.#nodesAt(sessionId, true)
    if (!answerers) return undefined
    const { answerMs: deadlineMs } = this.#limits
    const answer = await this.#askFirst(answerers.nodes, {
      method: route.method,
      path: pathOf(route, asked),
      deadlineMs,
      signal: AbortSignal.timeout(deadlineMs),
    }).catch((error: unknown) => {
      if (!answerers.orHere || !isUnconnected(error)) throw error
      return undefined
    })
    if (!answer) return undefined
    const reply: unknown = JSON.parse(await textOf(answer, maxAnswerBytes))
    if (answer.statusCode === route.status) return route.reply.parse(reply) as ReplyOf<Name>
    const { error } = ErrorBody.parse(reply)
    throw ParleyError.from(error)
  }

  async terminals(sessionId: string): Promise<Terminal[]> {
    const { nodes = [] } = (await this.#directory.whereabouts(sessionId)) ?? {}
    const lists = await Promise.all(this.#others(nodes).map((url) => this.#terminalsOf(url, sessionId)))
    return lists.flat()
  }

  /** The terminals at another node. A node that refuses connections has ended, and so have its terminals. */
  async #terminalsOf(url: string, sessionId: string): Promise<Terminal[]> {
    const path = pathOf(routes.listTerminals, { params: { id: sessionId } })
    const { listMs: deadlineMs } = this.#limits
    try {
      const signal = AbortSignal.timeout(deadlineMs)
      const answer = await this.#ask({ url, method: 'GET', path, deadlineMs, signal })
      const text = await textOf(answer, maxListBytes)
      return answer.statusCode === 200 ? routes.listTerminals.reply.parse(JSON.parse(text)).terminals : []
    } catch (error) {
      if (hasCode(error, 'busy')) {
        if (error.cause instanceof Error && 'code' in error.cause && error.cause.code === 'ECONNREFUSED')
          return []
        throw error
      }
      const message = `The node at ${url} did not list its terminals. Try again soon.`
      throw new ParleyError('busy', message, { details: { node: url }, cause: error })
    }
  }

  /** The nodes that can answer the request, the best node first. Undefined if this node must answer it. */
  async #nodesFor({ route, params, query, body, isFromNode }: PassedRequest): Promise<Answerers | undefined> {
    const name = names.get(route)
    const where = name && whereServed[name]
    const byOwner = where === 'snapshots' && !isFromNode && isAboutSnapshots(query)
    if (where === 'place' || where === 'snapshots') return this.#nodesAt(String(params?.id), byOwner)
    if (where !== 'maker') return undefined
    const { id, code, nonce, state } = { ...params, ...(body as object) } as Record<string, unknown>
    const maker = await this.#makerOf(String(id ?? code ?? nonce ?? state))
    return maker === undefined ? undefined : { nodes: [maker] }
  }

  async #nodesAt(sessionId: string, byOwner: boolean): Promise<Answerers | undefined> {
    const found = await this.#directory.whereabouts(sessionId)
    if (!found) return undefined
    if (found.isHere) {
      const owner = byOwner && found.owner !== undefined ? this.#others([found.owner]) : []
      return owner.length > 0 ? { nodes: owner, orHere: true } : undefined
    }
    const nodes = this.#others(found.nodes)
    if (nodes.length > 0) return { nodes }
    throw new ParleyError(
      'busy',
      `The folder of this session is on ${found.machine}, where no server runs. Start a server there, or wait until one runs.`,
      { details: { awaited: found.place } },
    )
  }

  /**
   * The address of the living node that created an id or a code. Undefined if this node created it, or if no living
   * node did.
   */
  async #makerOf(made: string): Promise<string | undefined> {
    const [suffix] = /-[0-9a-f]{8}$/.exec(made) ?? []
    const mark = suffix ?? pairingCodeOf(made)?.slice(pairingCodeLength)
    const isMaker = (one: string) => mark === (suffix ? one : nodeLetters(one))
    if (!mark || isMaker(this.suffix())) return undefined
    return this.#others(await this.#directory.living()).find((url) => isMaker(suffixOf(url)))
  }

  #others(nodes: readonly string[]): string[] {
    return nodes.filter((url) => isNodeUrl(url) && suffixOf(url) !== this.suffix())
  }

  async #pass({ incoming, outgoing, ...request }: PassedRequest, nodes: readonly string[]): Promise<void> {
    if (outgoing.destroyed) return
    const gone = new AbortController()
    outgoing.once('close', () => gone.abort())
    const body = request.body === undefined ? undefined : JSON.stringify(request.body)
    const answer = await this.#askFirst(nodes, {
      method: incoming.method ?? 'GET',
      path: pathOf(request.route, request),
      headers: {
        ...passedHeaders(incoming),
        [clientAddressHeader]: request.address,
        ...actorHeaders(request.actor),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      body,
      deadlineMs: this.#limits.answerMs,
      signal: gone.signal,
    })
    await copyAnswer(answer, outgoing, this.#limits.idleMs)
  }

  /**
   * The answer of the first node that can be reached. If a node may have received the request, no other node is
   * asked.
   */
  async #askFirst(nodes: readonly string[], asked: Omit<PeerRequest, 'url'>): Promise<IncomingMessage> {
    for (const [index, url] of nodes.entries()) {
      try {
        return await this.#ask({ ...asked, url })
      } catch (error) {
        if (index === nodes.length - 1 || !isUnconnected(error)) throw error
      }
    }
    throw new ParleyError('internal_error', 'There is no node to ask.')
  }

  async #ask(asked: PeerRequest): Promise<IncomingMessage> {
    const answer = await askPeer(this.#credential, asked)
    this.#connections.add(asked.url, answer.socket)
    return answer
  }
}

/** The nodes to ask, in this order. With `orHere`, this node answers if none of them can be reached. */
type Answerers = { readonly nodes: readonly string[]; readonly orHere?: boolean }

/** Whether the node has received nothing of the request. */
function isUnconnected(error: unknown): boolean {
  return hasCode(error, 'busy') && error.details?.connected === false
}

/**
 * The suffix of ids and codes that the node at this address creates. The address is stable, while the id of a node
 * changes with its lease.
 */
function suffixOf(url: string): string {
  if (url === '') throw new ParleyError('busy', 'This node is starting. Try again soon.')
  return `-${createHash('sha256').update(new URL(url).origin).digest('hex').slice(0, 8)}`
}

/** The refusal for callers without a credential. They do not learn the addresses of nodes. */
function outOfReach(): ParleyError {
  return new ParleyError('busy', 'The node that can answer this request cannot be reached. Try again soon.')
}

function pathOf(route: Route, { params, query }: Partial<Pick<PassedRequest, 'params' | 'query'>>): string {
  const path = route.path.replace(/:(\w+)/g, (_, name) => encodeURIComponent(String(params?.[name])))
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined)
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]))
  return search.size > 0 ? `${path}?${search}` : path
}

async function textOf(answer: IncomingMessage, limit: number): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > limit) throw new ParleyError('internal_error', 'The answer of a node is too large.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
