import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { forbiddenOriginCode, ParleyError, webSocketProtocol } from '@parley/protocol'
import type { Access } from './access.ts'

const reason = 'Pages from that address may not use this server (--allow-origin).'
/** How long a page has to read the close code. */
const farewellMs = 1000
/** From RFC 6455. */
const handshakeId = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/**
 * Whether a page with a forbidden origin may learn the reason. A browser does not show a page the status of a refused
 * WebSocket. Only a page with a valid token is told: any other page would learn that Parley runs here.
 */
export function mayBeTold(error: unknown, request: IncomingMessage, access: Access): boolean {
  if (!(error instanceof ParleyError) || error.code !== 'forbidden' || error.details?.header !== 'Origin')
    return false
  const { authorization, 'sec-websocket-key': key, 'sec-websocket-version': version } = request.headers
  if (authorization !== undefined || version !== '13' || !/^[+/\w]{22}==$/.test(key ?? '')) return false
  try {
    access.checkCaller(request)
    return true
  } catch {
    return false
  }
}

/** Opens the WebSocket only to close it with a code that the page can read. Frames from the page are ignored. */
export function refuseOrigin(request: IncomingMessage, socket: Duplex): void {
  const accept = createHash('sha1').update(`${request.headers['sec-websocket-key']}${handshakeId}`)
  const lines = [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${accept.digest('base64')}`,
    `Sec-WebSocket-Protocol: ${webSocketProtocol}`,
  ]
  const farewell = setTimeout(() => socket.destroy(), farewellMs).unref()
  socket.once('close', () => clearTimeout(farewell))
  socket.resume()
  socket.end(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), closeFrame()]))
}

function closeFrame(): Buffer {
  const words = Buffer.from(reason)
  const frame = Buffer.alloc(4 + words.length)
  frame.set([0x88, 2 + words.length])
  frame.writeUInt16BE(forbiddenOriginCode, 2)
  words.copy(frame, 4)
  return frame
}
