import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { forbiddenOriginCode, hasCode, webSocketProtocol } from '@parley/protocol'
import { WebSocketServer } from 'ws'
import { destroyAfter } from '../sockets.ts'
import type { Authentication } from './authentication.ts'

const reason = 'Pages from that address may not use this server. To allow them, use --allow-origin.'
const lingerMs = 1000

/**
 * Whether a page with a forbidden origin gets the reason for the refusal of its WebSocket, in a close code,
 * because browsers hide the HTTP status. Only a page with a valid token gets the reason, because any other
 * page would learn that Parley runs here.
 */
export function mayLearnReason(
  error: unknown,
  request: IncomingMessage,
  authentication: Authentication,
): boolean {
  if (!hasCode(error, 'forbidden') || error.details?.header !== 'Origin') return false
  if (request.headers.authorization !== undefined) return false
  try {
    authentication.checkCaller(request)
    return true
  } catch {
    return false
  }
}

const server = new WebSocketServer({
  noServer: true,
  perMessageDeflate: false,
  clientTracking: false,
  handleProtocols: () => webSocketProtocol,
})

/** Opens the WebSocket only to close it with a code that the page can read. Frames from the page are not parsed. */
export function refuseOrigin(request: IncomingMessage, socket: Duplex): void {
  server.handleUpgrade(request, socket, Buffer.alloc(0), (websocket) => {
    socket.removeAllListeners('data').resume()
    websocket.on('error', () => {})
    websocket.close(forbiddenOriginCode, reason)
    socket.end()
    destroyAfter(lingerMs, socket)
  })
}
