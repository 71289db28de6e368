import { mkdtemp, rm } from 'node:fs/promises'
import type { IncomingHttpHeaders } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type CommandInput, ServerFrame, SessionEvent } from '@parley/protocol'
import { pino } from 'pino'
import { WebSocket } from 'ws'
import { createGates, type Gates, type Sleep } from '../../adapters/scripted/gates.ts'
import { createScriptedAdapter } from '../../adapters/scripted/index.ts'
import type { Script } from '../../adapters/scripted/script.ts'
import type { Host, Limits } from '../../core/index.ts'
import type { SessionStore } from '../../core/session-store.ts'
import { createHost } from '../../index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { startServer } from '../http/serve.ts'
import { createWebSocketFace } from './index.ts'
import type { OutboxLimits } from './outbox.ts'

/** The real host and server with a WebSocket face, and raw clients that see every byte of its frames. */
export type WebSocketUnderTest = AsyncDisposable & {
  readonly host: Host
  readonly gates: Gates
  /** Controls the agent `stepping`, which writes one piece at a time. */
  readonly stepper: Stepper
  readonly cwd: string
  readonly port: number
  readonly peers: number
  connect(options?: RawClientOptions): Promise<RawClient>
  /** The answer to a refused upgrade. */
  refusal(headers: Record<string, string>, path?: string): Promise<Refusal>
  create(title?: string, agent?: 'scripted' | 'stepping'): Promise<string>
  /** Submits a script and waits for the end of its turn. */
  play(session: string, ...script: Script): Promise<void>
  submit(session: string, ...script: Script): Promise<string>
  log(session: string): Promise<SessionEvent[]>
  /** Stops the server in the same order as the program: the face first. */
  stop(): Promise<void>
}

export type Refusal = {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: unknown
}

export const testToken = 'websocket-test-token'
const version = '0.0.0-test'

type Options = {
  limits?: Partial<OutboxLimits>
  host?: Partial<Limits>
  heartbeatMs?: number
  store?: SessionStore
}

export async function websocketUnderTest(options: Options = {}): Promise<WebSocketUnderTest> {
  const cwd = await mkdtemp(join(tmpdir(), 'parley-websocket-'))
  const { host, gates, stepper, face, server } = await start(options)
  const address = `ws://127.0.0.1:${server.port}`
  const clients: RawClient[] = []
  let commands = 0

  const submit = async (session: string, ...script: Script) => {
    const text = JSON.stringify(script)
    const { promptId } = await host.command(session, {
      type: 'prompt.submit',
      commandId: `test-${++commands}`,
      text,
    })
    return promptId ?? ''
  }
  const log = async (session: string) => {
    const { seq } = await host.state(session)
    const { events } = await host.read(session, { after: 0, limit: seq + 1 })
    return events.map(({ json }) => JSON.parse(json) as SessionEvent)
  }
  const stop = async () => {
    face.close()
    await server.close()
    await host.close()
  }
  return {
    host,
    gates,
    stepper,
    cwd,
    port: server.port,
    get peers() {
      return face.peers
    },
    async connect(given) {
      const client = new RawClient(`${address}/api/ws`, given)
      clients.push(client)
      await client.opened
      return client
    },
    refusal: (headers, path = '/api/ws') => refusalOf(`${address}${path}`, headers),
    async create(title, agent = 'scripted') {
      const given = { agent, cwd, ...(title !== undefined && { title }) }
      return (await host.create(given)).id
    },
    submit,
    async play(session, ...script) {
      const ended = untilIdle(host, session)
      await submit(session, ...script)
      await ended
    },
    log,
    stop,
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.cut()
      await stop()
      await rm(cwd, { recursive: true, force: true })
    },
  }
}

async function start({ limits, host: hostLimits, heartbeatMs, store = createMemoryStore() }: Options) {
  const gates = createGates()
  const stepper = createStepper()
  const logger = pino({ level: 'silent' })
  const host = await createHost({
    adapters: [
      createScriptedAdapter({ gates }),
      createScriptedAdapter({ id: 'stepping', gates, pieceDelayMs: 1, sleep: stepper.sleep }),
    ],
    store,
    limits: { stopGraceMs: 100, cancelGraceMs: 100, ...hostLimits },
  })
  const face = createWebSocketFace({
    host,
    logger,
    version,
    ...(limits && { limits }),
    ...(heartbeatMs !== undefined && { heartbeatMs }),
  })
  const server = await startServer({
    host,
    hostname: '127.0.0.1',
    port: 0,
    token: testToken,
    logger,
    version,
    limits: { closeGraceMs: 10 },
    websocket: (upgrade) => face.accept(upgrade),
  })
  return { host, gates, stepper, face, server }
}

/** Steps a scripted agent through its pieces. */
export type Stepper = {
  readonly sleep: Sleep
  /** Resolves when the agent has written a piece and waits. */
  paused(): Promise<void>
  step(): void
  run(): void
}

function createStepper(): Stepper {
  let sleeping = Promise.withResolvers<() => void>()
  let running = false
  return {
    sleep: (_, signal) =>
      new Promise((resolve) => {
        if (running || signal.aborted) return resolve()
        signal.addEventListener('abort', () => resolve(), { once: true })
        sleeping.resolve(resolve)
      }),
    async paused() {
      await sleeping.promise
    },
    step() {
      const { promise } = sleeping
      sleeping = Promise.withResolvers()
      void promise.then((wake) => wake())
    },
    run() {
      running = true
      void sleeping.promise.then((wake) => wake())
    },
  }
}

/** Resolves when the next turn of the session ends. */
async function untilIdle(host: Host, session: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { seq } = await host.state(session)
  const stop = await host.follow(
    session,
    { after: seq },
    {
      following: () => undefined,
      caughtUp: () => undefined,
      ended: () => resolve(),
      deliver: (batch) => {
        if (batch.some((item) => item.kind === 'event' && item.json.includes('"type":"turn.ended"')))
          resolve()
      },
    },
  )
  await promise
  stop()
}

function refusalOf(url: string, headers: Record<string, string>): Promise<Refusal> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, { headers })
    socket.on('error', reject)
    socket.on('open', () => {
      socket.terminate()
      reject(new Error('the upgrade was let in'))
    })
    socket.on('unexpected-response', (request, response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (more: string) => {
        text += more
      })
      response.on('end', () => {
        resolve({ status: response.statusCode, headers: response.headers, body: JSON.parse(text) })
        request.destroy()
      })
    })
  })
}

export type FrameOf<Type extends ServerFrame['type']> = Extract<ServerFrame, { type: Type }>

export type RawClientOptions = {
  readonly headers?: Record<string, string>
  /** If false, protocol pings are not answered, as if the network were cut. */
  readonly autoPong?: boolean
  /** If false, the shape of frames is not checked. Checking every frame of a flood would take too long. */
  readonly check?: boolean
}

const patienceMs = 15_000

/**
 * A bare `ws` client. It stores every frame, and records each frame that does not have exactly the shape of the
 * protocol.
 */
export class RawClient {
  readonly frames: ServerFrame[] = []
  readonly problems: string[] = []
  readonly websocket: WebSocket
  readonly opened: Promise<void>
  readonly closed: Promise<{ code: number; reason: string }>
  readonly #check: boolean
  #waiting: (() => void)[] = []

  constructor(url: string, { headers, autoPong = true, check = true }: RawClientOptions = {}) {
    this.#check = check
    const authorization = `Bearer ${testToken}`
    this.websocket = new WebSocket(url, { autoPong, headers: { authorization, ...headers } })
    this.opened = new Promise((resolve, reject) => {
      this.websocket.once('open', resolve).on('error', reject)
    })
    this.closed = new Promise((resolve) => {
      this.websocket.once('close', (code, reason) => resolve({ code, reason: reason.toString() }))
    })
    this.websocket.on('message', (data, isBinary) => this.#take(String(data), isBinary))
  }

  /** Sends an object as JSON, and text or bytes unchanged. */
  send(frame: object | string): void {
    const isRaw = typeof frame === 'string' || Buffer.isBuffer(frame)
    this.websocket.send(isRaw ? frame : JSON.stringify(frame))
  }

  /** Sends a frame and resolves with the next frame of a type. */
  ask<Type extends ServerFrame['type']>(frame: object | string, type: Type): Promise<FrameOf<Type>> {
    const from = this.frames.length
    this.send(frame)
    return this.next(type, from)
  }

  async hello(): Promise<FrameOf<'welcome'>> {
    return this.ask({ type: 'hello' }, 'welcome')
  }

  /** Follows a session; resolves when the client has caught up. */
  async follow(
    session: string,
    from: { after?: number; epoch?: string; native?: boolean } = {},
  ): Promise<FrameOf<'following'>> {
    const start = this.frames.length
    this.send({ type: 'follow', session, ...from })
    await this.until((frame) => frame.type === 'caught-up' && frame.session === session, start)
    return this.frames
      .slice(start)
      .find((frame) => frame.type === 'following' && frame.session === session) as FrameOf<'following'>
  }

  /** The receipt of a command, with or without an error. */
  async command(
    session: string,
    command: CommandInput | Record<string, unknown>,
  ): Promise<FrameOf<'receipt'>> {
    const from = this.frames.length
    this.send({ type: 'command', session, command })
    const { commandId } = command
    const frame = await this.until((one) => one.type === 'receipt' && one.commandId === commandId, from)
    return frame as FrameOf<'receipt'>
  }

  next<Type extends ServerFrame['type']>(type: Type, from = 0): Promise<FrameOf<Type>> {
    return this.until((frame) => frame.type === type, from) as Promise<FrameOf<Type>>
  }

  event<Type extends SessionEvent['type']>(
    type: Type,
    from = 0,
  ): Promise<Extract<SessionEvent, { type: Type }>> {
    return this.until((frame) => frame.type === 'event' && frame.event.type === type, from).then(
      (frame) => (frame as FrameOf<'event'>).event as Extract<SessionEvent, { type: Type }>,
    )
  }

  /** The first frame from an index on that satisfies the condition, already received or yet to come. */
  async until(holds: (frame: ServerFrame) => boolean, from = 0): Promise<ServerFrame> {
    const deadline = AbortSignal.timeout(patienceMs)
    for (let at = from; ; at++) {
      while (at >= this.frames.length) await this.#more(deadline)
      const frame = this.frames[at]!
      if (holds(frame)) return frame
    }
  }

  /** Resolves when everything that the server has sent so far has arrived. */
  async settled(): Promise<void> {
    const id = `settled-${this.frames.length}`
    const from = this.frames.length
    this.send({ type: 'ping', id })
    await this.until((frame) => frame.type === 'pong' && frame.id === id, from)
  }

  of<Type extends ServerFrame['type']>(type: Type, from = 0): FrameOf<Type>[] {
    return this.frames.slice(from).filter((frame): frame is FrameOf<Type> => frame.type === type)
  }

  events(session?: string, from = 0): SessionEvent[] {
    return this.of('event', from)
      .filter((frame) => session === undefined || frame.session === session)
      .map((frame) => frame.event as SessionEvent)
  }

  /** Stops reading. Unread bytes first fill the buffers of the kernel, then those of the server. */
  pause(): void {
    this.websocket.pause()
  }

  resume(): void {
    this.websocket.resume()
  }

  cut(): void {
    this.websocket.terminate()
  }

  #take(text: string, isBinary: boolean): void {
    if (isBinary) this.problems.push('a binary frame')
    const value = JSON.parse(text) as ServerFrame
    if (this.#check) this.problems.push(...shapeProblems(value))
    this.frames.push(value)
    for (const wake of this.#waiting.splice(0)) wake()
  }

  async #more(deadline: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const giveUp = () => {
      const last = this.frames.slice(-8).map((frame) => JSON.stringify(frame).slice(0, 160))
      reject(new Error(`the frame did not come; ${this.frames.length} did, the last:\n${last.join('\n')}`))
    }
    if (deadline.aborted) giveUp()
    deadline.addEventListener('abort', giveUp)
    this.#waiting.push(resolve)
    await promise.finally(() => deadline.removeEventListener('abort', giveUp))
  }
}

/** The differences between the frame and the shape of the schema; empty if there are none. */
function shapeProblems(frame: ServerFrame): string[] {
  const checked = ServerFrame.safeParse(frame)
  if (!checked.success) return [`${JSON.stringify(frame)}: ${checked.error.message}`]
  if (!isDeepStrictEqual(checked.data, frame)) return [`${JSON.stringify(frame)} has fields of its own`]
  if (frame.type !== 'event') return []
  const event = SessionEvent.safeParse(frame.event)
  if (!event.success) return [`${JSON.stringify(frame.event)}: ${event.error.message}`]
  return isDeepStrictEqual(event.data, frame.event)
    ? []
    : [`${JSON.stringify(frame.event)} has fields of its own`]
}
