import { createECDH, createPublicKey, randomBytes, verify } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
// @ts-expect-error: the package has no types
import { decrypt } from 'http_ece'
import { Webhook } from 'standardwebhooks'

/** Servers on loopback that receive alerts in tests: a push service, a webhook and an ntfy server. */

export type Received = {
  readonly path: string
  readonly at: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly json: Record<string, unknown>
}

type Read = (path: string, headers: IncomingHttpHeaders, body: Buffer) => string

type Reply = { readonly status: number; readonly headers?: Record<string, string>; readonly hang?: boolean }

/** Receives requests, and answers each with the next of `replies`, or with the default reply. */
export class Receiver implements AsyncDisposable {
  readonly received: Received[] = []
  /** The problems that were found in requests. */
  readonly problems: string[] = []
  replies: Reply[] = []
  readonly #server: Server
  readonly #read: Read
  #changed: (() => void)[] = []

  private constructor(usual: number, read: Read) {
    this.#read = read
    this.#server = createServer(async (incoming, outgoing) => {
      const chunks: Buffer[] = []
      for await (const chunk of incoming) chunks.push(chunk as Buffer)
      const { url: path = '', headers } = incoming
      const reply = this.replies.shift() ?? { status: usual }
      try {
        const text = this.#read(path, headers, Buffer.concat(chunks))
        this.received.push({
          path,
          at: Date.now(),
          headers,
          text,
          json: JSON.parse(text) as Received['json'],
        })
      } catch (error) {
        this.problems.push(String(error))
        reply.hang || outgoing.writeHead(400).end()
        return
      } finally {
        for (const call of this.#changed.splice(0)) call()
      }
      if (!reply.hang) outgoing.writeHead(reply.status, reply.headers).end()
    })
  }

  static async #open(usual: number, read: Read): Promise<Receiver> {
    const receiver = new Receiver(usual, read)
    receiver.#server.listen(0, '127.0.0.1')
    await once(receiver.#server, 'listening')
    return receiver
  }

  /** A receiver that accepts any JSON. */
  static open(): Promise<Receiver> {
    return Receiver.#open(200, (_, __, body) => body.toString())
  }

  /**
   * A receiver that accepts only requests that are signed with `secret`. The library of the specification checks them.
   */
  static webhook(secret: () => string): Promise<Receiver> {
    return Receiver.#open(204, (_, headers, body) => {
      new Webhook(secret()).verify(body, headers as Record<string, string>)
      return body.toString()
    })
  }

  /** A push service: it accepts only requests that RFC 8030, 8291 and 8292 allow, and decrypts them. */
  static push(browsers: readonly Browser[]): Promise<Receiver> {
    const receiver: Promise<Receiver> = Receiver.#open(201, (path, headers, body) => {
      const browser = browsers.find((one) => one.path === path)
      if (!browser) throw new Error(`No browser has the path ${path}.`)
      checkHeaders(headers)
      checkAuthorization(headers.authorization ?? '', `http://${headers.host}`)
      if (body.length > 4096) throw new Error(`The body has ${body.length} bytes.`)
      return browser.decrypt(body)
    })
    return receiver
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Waits until this number of requests was received, and returns them. */
  async count(count: number): Promise<readonly Received[]> {
    while (this.received.length < count) {
      const changed = new Promise<void>((resolve) => this.#changed.push(resolve))
      const late = pause(20_000, 'late', { ref: false })
      if ((await Promise.race([changed, late])) === 'late')
        throw new Error(
          `${this.received.length} requests of ${count}: ${JSON.stringify([this.received, this.problems])}`,
        )
    }
    return this.received
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

function checkHeaders(headers: IncomingHttpHeaders): void {
  const { ttl = '', topic = '', urgency = '' } = headers
  if (headers['content-encoding'] !== 'aes128gcm') throw new Error('The content coding is wrong.')
  if (!/^\d+$/.test(String(ttl)) || Number(ttl) > 86_400) throw new Error(`The TTL is ${ttl}.`)
  if (!/^[\w-]{1,32}$/.test(String(topic))) throw new Error(`The topic is ${topic}.`)
  if (!['high', 'normal', 'low'].includes(String(urgency))) throw new Error(`The urgency is ${urgency}.`)
}

/** Checks the header as RFC 8292 describes, with the key that it contains. */
function checkAuthorization(header: string, origin: string): void {
  const [, token = '', k = ''] = /^vapid t=(\S+), k=(\S+)$/.exec(header) ?? []
  const [head = '', claims = '', signature = ''] = token.split('.')
  const point = Buffer.from(k, 'base64url')
  const [x = '', y = ''] = [point.subarray(1, 33), point.subarray(33)].map((part) =>
    part.toString('base64url'),
  )
  const key = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' })
  const signed = Buffer.from(`${head}.${claims}`)
  if (!verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url')))
    throw new Error('The signature of the sender is wrong.')
  const { aud, exp, sub } = JSON.parse(Buffer.from(claims, 'base64url').toString())
  if (aud !== origin) throw new Error(`The audience is ${aud}.`)
  if (exp * 1000 < Date.now() || exp * 1000 > Date.now() + 86_400_000)
    throw new Error(`It expires at ${exp}.`)
  if (!/^(mailto:|https:)/.test(sub)) throw new Error(`The contact is ${sub}.`)
}

/** A browser's push subscription, with the private key that only the browser has. */
export class Browser {
  readonly path = `/push/${randomBytes(12).toString('base64url')}`
  readonly #ecdh = createECDH('prime256v1')
  readonly #auth = randomBytes(16).toString('base64url')

  constructor() {
    this.#ecdh.generateKeys()
  }

  get keys(): { p256dh: string; auth: string } {
    return { p256dh: this.#ecdh.getPublicKey('base64url'), auth: this.#auth }
  }

  decrypt(body: Buffer): string {
    return decrypt(body, { version: 'aes128gcm', privateKey: this.#ecdh, authSecret: this.#auth }).toString()
  }
}
