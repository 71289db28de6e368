import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'

/**
 * A WebSocket client that does as little work as possible, so that the figures measure the server: it stores the
 * bytes, parses the frame headers, and reads a payload only to find the frame it waits for.
 */
export type WebSocketReader = {
  send(text: string): void
  /** Forgets earlier frames, then resolves when `end` arrives. `perFrame` is called for each frame. */
  until(end: EndOf, options?: UntilOptions): Promise<void>
  /** The payloads since the last `until`. */
  payloads(): Generator<Buffer>
  close(): void
}

/** The frame to wait for: its type, and a text that it contains. */
export type EndOf = { readonly type: string; readonly containing?: string }
export type UntilOptions = { readonly bytes?: number; readonly perFrame?: () => void }

export type WebSocketAddress = { readonly url: string; readonly token?: string }

/** All sockets of the process read into the same buffer; its content is copied before the next read. */
const shared = Buffer.allocUnsafe(256 * 1024)

export function openWebSocketReader(address: WebSocketAddress): Promise<WebSocketReader> {
  return new Reader(address).opened.promise
}

type Wanted = {
  readonly prefix: Buffer
  readonly containing: string | undefined
  readonly perFrame: (() => void) | undefined
}

class Reader implements WebSocketReader {
  readonly opened = Promise.withResolvers<WebSocketReader>()
  readonly #socket: Socket
  #received = Buffer.allocUnsafe(64 * 1024)
  #used = 0
  #walked = 0
  #upgraded = false
  #wanted: Wanted | undefined
  #found: PromiseWithResolvers<void> | undefined

  constructor({ url, token }: WebSocketAddress) {
    const { hostname, port, pathname, host } = new URL(url)
    const callback = (size: number, bytes: Uint8Array) => this.#take(bytes as Buffer, size)
    const onread = { buffer: shared, callback }
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true, onread })
    this.#socket.on('error', (error) => this.#fail(error))
    this.#socket.on('close', () => this.#fail(new Error('The server closed the socket.')))
    this.#socket.write(
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
  }

  send(text: string): void {
    this.#socket.write(maskedFrame(Buffer.from(text), 0x81))
  }

  until({ type, containing }: EndOf, { bytes = 0, perFrame }: UntilOptions = {}): Promise<void> {
    this.#received.copyWithin(0, this.#walked, this.#used)
    this.#used -= this.#walked
    this.#walked = 0
    if (this.#received.length < bytes) this.#received = larger(this.#received, this.#used, bytes)
    this.#found = Promise.withResolvers()
    this.#wanted = { prefix: Buffer.from(`{"type":"${type}"`), containing, perFrame }
    const { promise } = this.#found
    this.#walk()
    return promise
  }

  *payloads(): Generator<Buffer> {
    for (let at = 0; at < this.#walked; ) {
      const frame = frameAt(this.#received, at, this.#used)
      if (!frame) return
      if (frame.opcode === 1) yield this.#received.subarray(frame.start, frame.end)
      at = frame.end
    }
  }

  close(): void {
    this.#socket.removeAllListeners('close').destroy()
  }

  #take(bytes: Buffer, size: number): boolean {
    if (this.#used + size > this.#received.length)
      this.#received = larger(this.#received, this.#used, this.#used + size)
    bytes.copy(this.#received, this.#used, 0, size)
    this.#used += size
    if (this.#upgraded) this.#walk()
    else this.#shakeHands()
    return true
  }

  #fail(error: Error): void {
    this.opened.reject(error)
    this.#found?.reject(error)
  }

  #shakeHands(): void {
    const end = this.#received.indexOf('\r\n\r\n')
    if (end < 0 || end > this.#used) return
    const status = this.#received.toString('latin1', 0, this.#received.indexOf('\r\n'))
    if (!status.includes('101')) return this.#fail(new Error(`No WebSocket: ${status}`))
    this.#upgraded = true
    this.#walked = end + 4
    this.opened.resolve(this)
    this.#walk()
  }

  #walk(): void {
    for (;;) {
      const frame = frameAt(this.#received, this.#walked, this.#used)
      if (!frame) return
      this.#walked = frame.end
      if (frame.opcode === 9) this.#socket.write(maskedFrame(Buffer.alloc(0), 0x8a))
      if (frame.opcode !== 1 || !this.#wanted) continue
      this.#wanted.perFrame?.()
      if (this.#isWanted(this.#wanted, frame.start, frame.end)) {
        this.#wanted = undefined
        this.#found?.resolve()
      }
    }
  }

  #isWanted({ prefix, containing }: Wanted, start: number, end: number): boolean {
    const received = this.#received
    // A quick check: most frames differ in this byte, which is the first of the type.
    if (received[start + 9] !== prefix[9]) return false
    if (received.compare(prefix, 0, prefix.length, start, start + prefix.length) !== 0) return false
    return containing === undefined || received.subarray(start, end).includes(containing)
  }
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
