import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'

/**
 * A WebSocket client that costs as little as possible, so that the server is what is measured: it keeps the bytes,
 * walks over the frame headers, and looks into a payload only to find the one it waits for.
 */
export type WebSocketReader = {
  send(text: string): void
  /** Forgets earlier frames, then resolves when `end` arrives. `perFrame` is called for each frame, without a copy. */
  until(end: EndOf, options?: UntilOptions): Promise<void>
  /** The payloads since the last `until`. */
  payloads(): Generator<Buffer>
  close(): void
}

/** How the text of the frame starts, and what it contains. */
export type EndOf = { readonly type: string; readonly containing?: string }
export type UntilOptions = { readonly bytes?: number; readonly perFrame?: () => void }

export type WebSocketAddress = { readonly url: string; readonly token?: string }

/** All sockets of the process read into the same buffer; its content is copied before the next read. */
const shared = Buffer.allocUnsafe(256 * 1024)

export function openWebSocketReader({ url, token }: WebSocketAddress): Promise<WebSocketReader> {
  const { hostname, port, pathname, host } = new URL(url)
  const opened = Promise.withResolvers<WebSocketReader>()
  let received = Buffer.allocUnsafe(64 * 1024)
  let used = 0
  let walked = 0
  let upgraded = false
  let wanted:
    | { prefix: Buffer; containing: string | undefined; perFrame: (() => void) | undefined }
    | undefined
  let found: PromiseWithResolvers<void> | undefined

  const socket: Socket = connect({
    host: hostname,
    port: Number(port),
    noDelay: true,
    onread: {
      buffer: shared,
      callback(size, bytes) {
        if (used + size > received.length) received = larger(received, used, used + size)
        ;(bytes as Buffer).copy(received, used, 0, size)
        used += size
        if (upgraded) walk()
        else shakeHands()
        return true
      },
    },
  })
  socket.on('error', fail)
  socket.on('close', () => fail(new Error('The server closed the socket.')))
  socket.write(
    [
      `GET ${pathname} HTTP/1.1`,
      `Host: ${host}`,
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
      ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
      '\r\n',
    ].join('\r\n'),
  )

  function fail(error: Error) {
    opened.reject(error)
    found?.reject(error)
  }

  function shakeHands() {
    const end = received.indexOf('\r\n\r\n')
    if (end < 0 || end > used) return
    const status = received.toString('latin1', 0, received.indexOf('\r\n'))
    if (!status.includes('101')) return fail(new Error(`No WebSocket: ${status}`))
    upgraded = true
    walked = end + 4
    opened.resolve(reader)
    walk()
  }

  function walk() {
    for (;;) {
      const frame = frameAt(received, walked, used)
      if (!frame) return
      walked = frame.end
      if (frame.opcode === 9) socket.write(maskedFrame(Buffer.alloc(0), 0x8a))
      if (frame.opcode !== 1 || !wanted) continue
      wanted.perFrame?.()
      if (isWanted(frame.start, frame.end)) {
        wanted = undefined
        found?.resolve()
      }
    }
  }

  function isWanted(start: number, end: number): boolean {
    const { prefix, containing } = wanted!
    // Most frames differ in this byte, which is the first of the type.
    if (received[start + 9] !== prefix[9]) return false
    if (received.compare(prefix, 0, prefix.length, start, start + prefix.length) !== 0) return false
    return containing === undefined || received.subarray(start, end).includes(containing)
  }

  const reader: WebSocketReader = {
    send: (text) => void socket.write(maskedFrame(Buffer.from(text), 0x81)),
    until({ type, containing }, { bytes = 0, perFrame } = {}) {
      received.copyWithin(0, walked, used)
      used -= walked
      walked = 0
      if (received.length < bytes) received = larger(received, used, bytes)
      found = Promise.withResolvers()
      wanted = { prefix: Buffer.from(`{"type":"${type}"`), containing, perFrame }
      walk()
      return found.promise
    },
    *payloads() {
      for (let at = 0; at < walked; ) {
        const frame = frameAt(received, at, used)
        if (!frame) return
        if (frame.opcode === 1) yield received.subarray(frame.start, frame.end)
        at = frame.end
      }
    },
    close: () => socket.removeAllListeners('close').destroy(),
  }
  return opened.promise
}

function frameAt(bytes: Buffer, at: number, end: number) {
  if (end - at < 2) return undefined
  const opcode = bytes[at]! & 0x0f
  const short = bytes[at + 1]! & 0x7f
  const header = short < 126 ? 2 : short === 126 ? 4 : 10
  if (end - at < header) return undefined
  const length =
    short < 126 ? short : short === 126 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2))
  if (end - at < header + length) return undefined
  return { opcode, start: at + header, end: at + header + length }
}

/** A client's frames must be masked; a mask of zeros is allowed. */
function maskedFrame(payload: Buffer, first: number): Buffer {
  const { length } = payload
  const header = Buffer.alloc(length < 126 ? 6 : 8)
  header[0] = first
  header[1] = 0x80 | Math.min(length, 126)
  if (length >= 126) header.writeUInt16BE(length, 2)
  return Buffer.concat([header, payload])
}

function larger(bytes: Buffer<ArrayBuffer>, used: number, size: number): Buffer<ArrayBuffer> {
  const grown = Buffer.allocUnsafe(Math.max(size, bytes.length * 2))
  bytes.copy(grown, 0, 0, used)
  return grown
}
