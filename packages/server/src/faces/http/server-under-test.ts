import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import type { Host } from '../../core/index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { type HttpServer, type ServeSettings, startServer } from './serve.ts'

/** A listening server for tests, and functions that send requests to it. */

export const testToken = 'test-token-7f3b9c1d5e8a4062'

export type Answer = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly body: Record<string, unknown>
}

export type Asked = {
  readonly method?: string
  readonly headers?: Record<string, string>
  /** The body of the request; an object is sent as JSON. */
  readonly body?: unknown
  /** If false, the request is sent without the token. */
  readonly token?: boolean
}

export type ServerUnderTest = HttpServer & {
  /** Every line logged so far, at trace level. */
  readonly log: string[]
  ask(path: string, asked?: Asked): Promise<Answer>
  /** Follows a session as server-sent events. */
  follow(sessionId: string, options?: { query?: string; headers?: Record<string, string> }): Promise<Followed>
}

export type Frame = { readonly event: string; readonly id?: string; readonly data: Record<string, unknown> }

export type Followed = {
  readonly response: IncomingMessage
  readonly frames: Frame[]
  /** The first frame that satisfies the condition, already received or yet to come. */
  until(holds: (frame: Frame) => boolean): Promise<Frame>
  /** Resolves when the stream ends for any reason. */
  readonly ended: Promise<void>
  leave(): void
}

export async function serverUnderTest(
  host: Host,
  settings: Partial<ServeSettings> = {},
): Promise<ServerUnderTest> {
  const log: string[] = []
  const sink = new Writable({
    write(chunk, _encoding, done) {
      log.push(String(chunk))
      done()
    },
  })
  const server = await startServer({
    host,
    hostname: '127.0.0.1',
    port: 0,
    token: testToken,
    access: createMemoryStore(),
    logger: pino({ level: 'trace' }, sink),
    version: '0.0.0-test',
    ...settings,
  })
  return {
    ...server,
    log,
    ask: (path, asked) => ask(server.port, path, asked),
    follow: (sessionId, options) => follow(server.port, sessionId, options),
  }
}

/** Uses Node's own client instead of fetch, because it can send any Host, Origin and method. */
function ask(port: number, path: string, asked: Asked = {}): Promise<Answer> {
  const { method = asked.body === undefined ? 'GET' : 'POST', token = true } = asked
  const isText = typeof asked.body === 'string' || asked.body instanceof Uint8Array
  const body = asked.body === undefined || isText ? asked.body : JSON.stringify(asked.body)
  const headers = {
    ...(token && { authorization: `Bearer ${testToken}` }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...asked.headers,
  }
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { host: '127.0.0.1', port, path, method, headers, agent: false },
      (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (piece) => {
          text += piece
        })
        response.on('error', reject)
        response.on('end', () => {
          const isJson = /^application\/json\b/.test(response.headers['content-type'] ?? '') && text !== ''
          const status = response.statusCode ?? 0
          resolve({ status, headers: response.headers, text, body: isJson ? JSON.parse(text) : {} })
        })
      },
    )
    request.on('error', reject)
    request.end(body)
  })
}

async function follow(
  port: number,
  sessionId: string,
  { query = '', headers = {} }: { query?: string; headers?: Record<string, string> } = {},
): Promise<Followed> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = httpRequest({
      host: '127.0.0.1',
      port,
      path: `/api/sessions/${sessionId}/events${query}`,
      headers: { authorization: `Bearer ${testToken}`, accept: 'text/event-stream', ...headers },
      agent: false,
    })
    request.on('response', resolve).on('error', reject).end()
  })
  const frames: Frame[] = []
  const ended = Promise.withResolvers<void>()
  let waiting: (() => void)[] = []
  let rest = ''
  const wake = () => {
    const woken = waiting
    waiting = []
    for (const call of woken) call()
  }
  response.setEncoding('utf8')
  response.on('data', (text: string) => {
    const blocks = (rest + text).split('\n\n')
    rest = blocks.pop() ?? ''
    frames.push(...blocks.filter((block) => !block.startsWith(':')).map(frameOf))
    wake()
  })
  response.on('error', () => {})
  response.on('close', () => {
    ended.resolve()
    wake()
  })
  return {
    response,
    frames,
    ended: ended.promise,
    leave: () => response.destroy(),
    async until(holds) {
      for (let seen = 0; ; seen++) {
        while (seen >= frames.length) {
          if (response.closed) throw new Error(`the stream ended after ${frames.length} frames`)
          await new Promise<void>((resolve) => waiting.push(resolve))
        }
        const frame = frames[seen]
        if (frame && holds(frame)) return frame
      }
    },
  }
}

function frameOf(block: string): Frame {
  const field = (name: string) =>
    block
      .split('\n')
      .find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2)
  const id = field('id')
  return {
    event: field('event') ?? 'message',
    ...(id !== undefined && { id }),
    data: JSON.parse(field('data') ?? '{}'),
  }
}
