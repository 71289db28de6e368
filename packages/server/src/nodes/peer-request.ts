import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Duplex } from 'node:stream'
import { ParleyError } from '@parley/protocol'
import { challengeHeader, type PeerCredential, proofHeader } from './peer-credential.ts'

export type PeerRequest = {
  /** The address of the node, from the database. */
  readonly url: string
  readonly method: string
  /** An absolute path with its query. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** The time limit for the node to answer. */
  readonly deadlineMs: number
  /** Ends the request, before or after it was answered. */
  readonly signal?: AbortSignal
}

export type PeerUpgrade = {
  readonly response: IncomingMessage
  readonly socket: Duplex
  readonly head: Buffer
}

const connectMs = 3_000

/**
 * Sends a request to another node, on a connection of its own. Resolves with the answer once the sender has proved that
 * it is a node. Redirects are not followed. Rejects with ParleyError `busy` if there is no answer in time; its detail
 * `connected` is false if the node has received nothing.
 */
export function askPeer(credential: PeerCredential, asked: PeerRequest): Promise<IncomingMessage> {
  return exchange<IncomingMessage>(credential, asked, (request, answer) => {
    request.on('response', (response) => answer.accept(response, response))
    request.on('upgrade', (_, socket) => socket.destroy())
  })
}

/** Like `askPeer`, for an upgrade to a WebSocket. Rejects with ParleyError `busy` if the node refuses the upgrade. */
export function upgradePeer(credential: PeerCredential, asked: PeerRequest): Promise<PeerUpgrade> {
  return exchange<PeerUpgrade>(credential, asked, (request, answer) => {
    request.on('response', ({ statusCode }) =>
      answer.fail(`it refused the terminal with status ${statusCode}`),
    )
    request.on('upgrade', (response, socket, head) => {
      socket.on('error', () => undefined)
      answer.accept(response, { response, socket, head })
    })
  })
}

type Answer<Result> = {
  /** Resolves with the result if the sender of the response has proved that it is a node. */
  accept(response: IncomingMessage, result: Result): void
  fail(reason: string, cause?: unknown): void
}

async function exchange<Result>(
  credential: PeerCredential,
  asked: PeerRequest,
  listen: (request: ClientRequest, answer: Answer<Result>) => void,
): Promise<Result> {
  const { url, deadlineMs } = asked
  const own = credential.headersFor(url)
  const request = createRequest(asked, own)
  const { promise, resolve, reject } = Promise.withResolvers<Result>()
  let connected = false
  const fail = (reason: string, cause?: unknown) => {
    const message = `The node at ${url} cannot be reached: ${reason}. Try again soon.`
    reject(new ParleyError('busy', message, { details: { node: url, connected }, cause }))
    request.destroy()
  }
  let isSettled = false
  // If this process was paused, the data that arrived meanwhile is read before the deadline is checked.
  const failLater = (isLate: () => boolean, ms: number) =>
    setTimeout(() => setImmediate(() => !isSettled && isLate() && fail('it does not answer')), ms)
  const timers = [
    failLater(() => !connected, Math.min(connectMs, deadlineMs)),
    failLater(() => true, deadlineMs),
  ]
  const setConnected = () => {
    connected = true
  }
  request.on('socket', (socket) => socket.on('connect', setConnected))
  request.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? error.message, error))
  request.on('close', () => fail('the connection was closed'))
  listen(request, {
    fail,
    accept({ headers }, result) {
      const proof = String(headers[proofHeader])
      if (credential.isProof(proof, url, own[challengeHeader])) resolve(result)
      else fail('the program that answers there is not a node, or its token or clock differs')
    },
  })
  request.end(asked.body)
  return promise.finally(() => {
    isSettled = true
    for (const timer of timers) clearTimeout(timer)
  })
}

function createRequest(asked: PeerRequest, own: Record<string, string>): ClientRequest {
  const { url, method, path, headers, body, signal } = asked
  const { hostname, port, protocol } = new URL(url)
  const create = protocol === 'https:' ? httpsRequest : httpRequest
  return create({
    // A URL has an IPv6 address in brackets, which `hostname` must not contain.
    hostname: hostname.replace(/^\[|\]$/g, ''),
    port: port || undefined,
    method,
    path,
    agent: false,
    headers: {
      ...headers,
      ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
      ...own,
    },
    ...(signal && { signal }),
  })
}
