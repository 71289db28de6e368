import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { ParleyError } from '@parley/protocol'
import type { Logger } from 'pino'
import { type Caller, expectScopes } from '../../access/index.ts'
import type { OtherNodes } from '../other-nodes.ts'
import { destroyAfter, type Upgrade } from '../sockets.ts'
import type { Authentication } from './authentication.ts'
import { type Problem, problemOf } from './problem.ts'
import { mayLearnReason, refuseOrigin } from './refuse-origin.ts'

export type WebSocketHandler = (upgrade: Upgrade) => void

export type UpgradeParts = {
  readonly authentication: Authentication
  readonly logger: Logger
  readonly websocket: WebSocketHandler | undefined
  /** Takes over the upgrade for the terminal with this id. */
  readonly terminal: ((terminalId: string, upgrade: Upgrade) => void) | undefined
  readonly otherNodes: OtherNodes | undefined
}

/** Applies the same checks to a WebSocket upgrade as to any request. */
export function createUpgrade({ authentication, logger, websocket, terminal, otherNodes }: UpgradeParts) {
  const nodeRefused = createNodeRefusals(logger)
  return async (request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    const ignore = () => {}
    socket.on('error', ignore)
    try {
      if (!authentication.isFromNode(request)) authentication.source.check(request)
      const terminalId = /^\/api\/terminals\/([\w-]+)$/.exec(pathOf(request))?.[1]
      if (pathOf(request) !== '/api/ws' && terminalId === undefined) {
        throw new ParleyError('not_found', 'There is no WebSocket here; connect to /api/ws.')
      }
      const learning = authentication.learn(request)
      if (learning) await learning
      const caller = authentication.checkCaller(request)
      if (terminalId !== undefined) expectScopes(caller.principal, ['terminal'])
      const accept = terminalId === undefined ? websocket : terminal?.bind(undefined, terminalId)
      if (!accept) throw new ParleyError('not_supported', 'This WebSocket is not enabled on this server.')
      const isNode = caller.kind === 'node'
      const onSignedOut = signedOutOf(caller, socket)
      const mayAct = () => isStillSignedIn(caller, socket)
      const { principal } = caller
      const upgrade = { request, socket, head, isNode, principal, onSignedOut, mayAct }
      if (terminalId !== undefined && !isNode && (await otherNodes?.upgrade(terminalId, upgrade))) return
      socket.off('error', ignore)
      accept(upgrade)
    } catch (error) {
      socket.on('error', ignore)
      const refusal = problemOf(error, logger)
      if (isOfNode(request)) nodeRefused(request)
      else logger.info({ status: refusal.status, origin: request.headers.origin }, 'refused a WebSocket')
      if (mayLearnReason(error, request, authentication)) refuseOrigin(request, socket)
      else refuse(socket, refusal)
    }
  }
}

function isOfNode({ headers }: IncomingMessage): boolean {
  return headers.authorization?.startsWith('Bearer node.') === true
}

/** Refusals of nodes are logged after a delay, because a node is also refused for a moment while this server starts. */
const refusals = { afterMs: 3_000, everyMs: 60_000 }

/** Logs refusals of nodes, at most one line a minute, because a refused node tries again without end. */
function createNodeRefusals(logger: Logger) {
  let first = Number.NEGATIVE_INFINITY
  let logged = Number.NEGATIVE_INFINITY
  return ({ socket }: IncomingMessage) => {
    const now = performance.now()
    if (now - first > refusals.everyMs) first = now
    if (now - first < refusals.afterMs || now - logged < refusals.everyMs) return
    logged = now
    logger.warn(
      { address: socket.remoteAddress },
      'refused another node: its PARLEY_TOKEN differs, or its clock differs by more than 5 minutes',
    )
  }
}

/** The time limit for a signed-out client to read the close code. */
const lingerMs = 1000

function signedOutOf(caller: Caller, socket: Duplex): Upgrade['onSignedOut'] {
  const calls: (() => void)[] = []
  const forget = caller.onRevoked(() => {
    if (!caller.isRevoked) return void socket.destroy()
    for (const call of calls) call()
    destroyAfter(lingerMs, socket)
  })
  socket.once('close', forget)
  return (call) => {
    if (caller.isRevoked) call()
    else calls.push(call)
  }
}

function isStillSignedIn(caller: Caller, socket: Duplex): boolean {
  caller.notice()
  return !caller.isRevoked && !socket.destroyed
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? '').split('?', 1)[0] ?? ''
}

function refuse(socket: Duplex, { status, headers, body }: Problem): void {
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    'Connection: close',
  ]
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy())
}
