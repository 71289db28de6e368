import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import {
  type AnyMessage,
  type ClientConnection,
  type ClientContext,
  client,
  type JsonRpcId,
} from '@agentclientprotocol/sdk/unstable'
import { readJsonLines } from '../json-lines.ts'
import type { Frame, NativeMessage } from './native.ts'

export type WireEvents = {
  /** Everything that the agent says, in order; the next is taken when this one is done with. Must not reject. */
  heard(frame: Frame): Promise<void>
  /** A line on stdout that is no message. */
  garbage(line: string): Promise<void>
  /** Everything that is said to the agent, before it is written. */
  sent(frame: Frame): void
  /** A question of the agent's. What it rejects with is the answer. */
  asked(method: string, params: unknown, signal: AbortSignal): Promise<unknown>
}

/** How long what the agent has left behind may keep its output open. */
const drainMs = 1_000

/**
 * The line to an agent. The SDK matches questions and answers, and nothing else: it would drop what it does not know,
 * so every message is heard here first, as it came, and only answers and questions are given on to it.
 */
export class Wire {
  readonly agent: ClientContext
  /** Nothing more is heard. */
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

  /** Whoever waits for an answer is told that none will come. */
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
      message: (value) => take(() => this.#hear(value)),
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

  async #hear(message: unknown): Promise<void> {
    if (typeof message !== 'object' || message === null) return this.#events.garbage(JSON.stringify(message))
    await this.#events.heard({ from: 'agent', message: message as NativeMessage })
    if (this.#isForSdk(message)) this.#inbox?.enqueue(message as AnyMessage)
  }

  /** Answers that it waits for, questions that it must answer, and that one of them was taken back. */
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
