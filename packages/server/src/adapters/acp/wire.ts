import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import {
  type AnyMessage,
  type ClientConnection,
  type ClientContext,
  client,
  type JsonRpcId,
} from '@agentclientprotocol/sdk/unstable'
import { readJsonLines } from '@parley/adapter-kit/json-lines'
import type { Frame, NativeMessage } from './native.ts'

export type WireEvents = {
  /**
   * Called with every message of the agent, in order; the next is read when the promise resolves. Must not reject.
   */
  received(frame: Frame): Promise<void>
  /** Called with a line on stdout that is not a message. */
  garbage(line: string): Promise<void>
  /** Called with every message to the agent, before it is written. */
  sent(frame: Frame): void
  /** Called with a request of the agent. A rejection becomes the error response. */
  asked(method: string, params: unknown, signal: AbortSignal): Promise<unknown>
}

/** The time for which descendants of the agent may keep its output open. */
const drainMs = 1_000

/**
 * The connection to an agent. The SDK only matches requests and responses, and would drop unknown messages. So every
 * message is passed to `received` first, unchanged, and only requests and responses are then passed to the SDK.
 */
export class Wire {
  readonly agent: ClientContext
  /** Resolves when no more messages arrive. */
  readonly ended: Promise<void>
  readonly #child: ChildProcessWithoutNullStreams
  readonly #events: WireEvents
  readonly #connection: ClientConnection
  readonly #waiting = new Set<JsonRpcId>()
  #inbox: ReadableStreamDefaultController<AnyMessage> | undefined

  constructor(child: ChildProcessWithoutNullStreams, events: WireEvents) {
    this.#child = child
    this.#events = events
    this.#connection = client({ name: 'parley' })
      .onRequest('*', ({ method, params, signal }) => events.asked(method, params, signal))
      .onNotification('*', () => undefined)
      .connect({
        readable: new ReadableStream<AnyMessage>({
          start: (controller) => {
            this.#inbox = controller
          },
        }),
        writable: new WritableStream<AnyMessage>({ write: (message) => this.#write(message) }),
      })
    this.agent = this.#connection.agent
    this.ended = this.#read()
  }

  /** Closes the connection and rejects pending requests. */
  close(): void {
    this.#connection.close()
  }

  async #read(): Promise<void> {
    const { promise: over, resolve: end } = Promise.withResolvers<void>()
    const { stdout } = this.#child
    const waiting: (() => Promise<void>)[] = []
    let busy = false
    let ended = false
    const work = async () => {
      if (busy) return
      busy = true
      for (let next = waiting.shift(); next; next = waiting.shift()) await next()
      busy = false
      if (ended) end()
      else reader.resume()
    }
    const take = (step: () => Promise<void>) => {
      waiting.push(step)
      reader.pause()
      void work()
    }
    const reader = readJsonLines(stdout, {
      message: (value) => take(() => this.#receive(value)),
      garbage: (line) => take(() => this.#events.garbage(line)),
      end: () => {
        ended = true
        void work()
      },
    })
    this.#child.once('exit', () => setTimeout(() => stdout.destroy(), drainMs).unref())
    this.#child.once('error', () => stdout.destroy())
    this.#child.stdin.on('error', () => undefined)
    await over
    this.#connection.close()
  }

  async #receive(message: unknown): Promise<void> {
    if (typeof message !== 'object' || message === null) return this.#events.garbage(JSON.stringify(message))
    await this.#events.received({ from: 'agent', message: message as NativeMessage })
    if (this.#isForSdk(message)) this.#inbox?.enqueue(message as AnyMessage)
  }

  /** True if the SDK needs the message: a response that it waits for, a request, or the cancellation of a request. */
  #isForSdk(message: object): boolean {
    if (this.#connection.signal.aborted) return false
    const { id, method } = message as { id?: JsonRpcId; method?: string }
    if (method !== undefined) return id !== undefined || method === '$/cancel_request'
    return id !== undefined && this.#waiting.delete(id)
  }

  #write(message: AnyMessage): Promise<void> | undefined {
    if ('method' in message && 'id' in message) this.#waiting.add(message.id)
    this.#events.sent({ from: 'host', message: message as NativeMessage })
    const { stdin } = this.#child
    if (!stdin.writable || stdin.write(`${JSON.stringify(message)}\n`)) return
    return new Promise((resolve) => {
      const done = () => {
        stdin.off('drain', done)
        stdin.off('close', done)
        resolve()
      }
      stdin.once('drain', done)
      stdin.once('close', done)
    })
  }
}
