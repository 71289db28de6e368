import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Duplex, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ParleyError, webSocketProtocol } from '@parley/protocol'
import { destroyAfter, type Upgrade } from '../faces/sockets.ts'
import type { PeerUpgrade } from './peer-request.ts'

/** The headers of a request that are passed on. Credentials, cookies and headers about the connection are not. */
const requestHeaders = ['accept', 'user-agent', 'last-event-id', 'origin'] as const

/**
 * The headers of an answer that are passed on. The face has already set its own security headers; a header of the
 * answer replaces the header with the same name. For example, an exported page has a stricter policy.
 */
const answerHeaders = [
  'allow',
  'content-disposition',
  'content-length',
  'content-security-policy',
  'content-type',
  'www-authenticate',
  'x-accel-buffering',
] as const

export function passedHeaders({ headers }: IncomingMessage): Record<string, string> {
  return chosen(headers, requestHeaders)
}

function chosen(headers: IncomingMessage['headers'], names: readonly string[]): Record<string, string> {
  const found = names.map((name) => [name, headers[name]])
  return Object.fromEntries(found.filter(([, value]) => typeof value === 'string'))
}

/** Copies the answer of a node to the client, no faster than the client reads. An answer that pauses is cut off. */
export async function copyAnswer(
  answer: IncomingMessage,
  outgoing: ServerResponse,
  idleMs: number,
): Promise<void> {
  answer.setTimeout(idleMs, () => answer.destroy())
  outgoing.writeHead(answer.statusCode ?? 502, chosen(answer.headers, answerHeaders))
  outgoing.flushHeaders()
  await pipeline(answer, outgoing).catch(() => outgoing.destroy())
}

const keyPattern = /^[+/0-9A-Za-z]{22}==$/

/** The headers that ask another node for the WebSocket of the client, without the client's credential. */
export function upgradeHeaders({ headers }: IncomingMessage): Record<string, string> {
  const { 'sec-websocket-key': key = '', 'sec-websocket-protocol': offered = '' } = headers
  if (!keyPattern.test(key) || headers['sec-websocket-version'] !== '13') {
    throw new ParleyError('validation_error', 'This is not a request for a WebSocket.')
  }
  const isOurs = offered.split(',').some((one) => one.trim() === webSocketProtocol)
  return {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-key': key,
    'sec-websocket-version': '13',
    ...(isOurs && { 'sec-websocket-protocol': webSocketProtocol }),
  }
}

/** The time limit for the client to read the remaining data after the node has closed the connection. */
const lingerMs = 1_000

/** Connects the client with the terminal. When one side closes, the other side is closed too. */
export function connectSockets(
  { socket, head, onSignedOut, mayAct }: Upgrade,
  { response, socket: peer, head: peerHead }: PeerUpgrade,
): void {
  const accept = chosen(response.headers, ['sec-websocket-accept', 'sec-websocket-protocol'])
  const lines = Object.entries(accept).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n${lines.join('')}\r\n`,
  )
  socket.write(peerHead)
  peer.write(head)
  socket.on('close', () => peer.destroy())
  peer.on('close', () => {
    socket.end()
    destroyAfter(lingerMs, socket)
  })
  onSignedOut(() => peer.destroy())
  const whileAllowed = new Transform({
    transform: (chunk, _, done) => done(null, mayAct() ? chunk : undefined),
  })
  socket.pipe(whileAllowed).pipe(peer)
  peer.pipe(socket)
}

const checkEveryMs = 2_000

/** The open connections to other nodes. Connections to a node that is no longer alive are closed. */
export class PeerConnections {
  readonly #living: () => Promise<readonly string[]>
  readonly #open = new Map<Duplex, string>()
  #timer: NodeJS.Timeout | undefined

  constructor(living: () => Promise<readonly string[]>) {
    this.#living = living
  }

  get size(): number {
    return this.#open.size
  }

  add(url: string, socket: Duplex): void {
    this.#open.set(socket, url)
    socket.once('close', () => this.#open.delete(socket))
    this.#timer ??= setTimeout(() => void this.#check(), checkEveryMs).unref()
  }

  async #check(): Promise<void> {
    // While the database is unreachable, nothing is known about the nodes, so connections stay open.
    const living = await this.#living().catch(() => undefined)
    for (const [socket, url] of this.#open) if (living && !living.includes(url)) socket.destroy()
    this.#timer = undefined
    if (this.#open.size > 0) this.#timer = setTimeout(() => void this.#check(), checkEveryMs).unref()
  }
}
