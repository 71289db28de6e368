import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Delta, SessionEvent } from '@parley/protocol'
import { WebSocket } from 'ws'
import { builtBefore, startProgram } from '../lib/program.ts'
import { post } from './http.ts'
import type { Hear, Place, Reader, Side } from './side.ts'

/** The program `parley`, built, with its defaults. The clients use the HTTP API and its WebSocket. */
export function createParley(agent: string, config: (place: Place) => object = () => ({})): Side {
  return {
    async start(place) {
      const dataDir = join(place.home, 'parley')
      mkdirSync(dataDir, { recursive: true, mode: 0o700 })
      writeFileSync(join(dataDir, 'config.json'), JSON.stringify(config(place)), { mode: 0o600 })
      const { url, token, healthyMs, stop } = await startProgram(builtBefore, dataDir, place.env)
      const headers = { authorization: `Bearer ${token}` }
      return {
        startMs: healthyMs,
        async newSession(prompt, hear) {
          const body = { agent, cwd: place.work, prompt }
          const { id } = await post<{ id: string }>(`${url}/api/sessions`, body, headers)
          const server = { url, headers, id }
          const first = await Follower.open(server, hear)
          await first.turnEnded
          return {
            prompt: (text, hearTurn) => first.prompt(text, hearTurn),
            join: (hearToo) => Follower.open(server, hearToo),
            async read(hearAll) {
              const reader = await Follower.open(server, hearAll)
              reader.close()
            },
          }
        },
        stop,
      }
    },
  }
}

type Frame =
  | { readonly type: 'delta'; readonly delta: Delta }
  | { readonly type: 'event'; readonly event: SessionEvent }
  | { readonly type: 'caught-up' | 'following' | 'receipt' }
  | { readonly type: 'error' | 'evicted' }

let commands = 0

/** A client that follows one session over a WebSocket of its own. */
class Follower implements Reader {
  readonly #socket: WebSocket
  readonly #session: string
  /** The length of the text that was heard, by block. */
  readonly #heard = new Map<string, number>()
  readonly #caughtUp = Promise.withResolvers<void>()
  #ended = Promise.withResolvers<void>()
  #hear: Hear

  private constructor(socket: WebSocket, session: string, hear: Hear) {
    this.#socket = socket
    this.#session = session
    this.#hear = hear
    socket.on('open', () => socket.send(JSON.stringify({ type: 'follow', session })))
    socket.on('message', (bytes) => this.#take(JSON.parse(String(bytes)) as Frame))
    socket.on('error', (error) => this.#fail(error))
    socket.on('close', () => this.#fail(new Error('The server closed the socket.')))
    this.#ended.promise.catch(() => undefined)
    this.#caughtUp.promise.catch(() => undefined)
  }

  /** Resolves when the events so far have arrived. */
  static async open(server: { url: string; headers: object; id: string }, hear: Hear): Promise<Follower> {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/api/ws`, {
      headers: { ...server.headers },
    })
    const follower = new Follower(socket, server.id, hear)
    await follower.#caughtUp.promise
    return follower
  }

  get turnEnded(): Promise<void> {
    return this.#ended.promise
  }

  prompt(text: string, hear: Hear): Promise<void> {
    this.#hear = hear
    this.#ended = Promise.withResolvers()
    const command = { commandId: `bench-${process.pid}-${++commands}`, type: 'prompt.submit', text }
    this.#socket.send(JSON.stringify({ type: 'command', session: this.#session, command }))
    return this.#ended.promise
  }

  close(): void {
    this.#socket.removeAllListeners('close').terminate()
  }

  #take(frame: Frame): void {
    if (frame.type === 'delta') {
      if (frame.delta.type !== 'text.streamed') return
      const { blockId, offset, text } = frame.delta
      this.#write(blockId, offset, text)
    } else if (frame.type === 'event') this.#takeEvent(frame.event)
    else if (frame.type === 'caught-up') this.#caughtUp.resolve()
    else if (frame.type === 'error' || frame.type === 'evicted') this.#fail(new Error(JSON.stringify(frame)))
  }

  #takeEvent(event: SessionEvent): void {
    if (event.type === 'text.written') this.#write(event.blockId, 0, event.text)
    if (event.type !== 'turn.ended') return
    if (event.outcome === 'completed') this.#ended.resolve()
    else this.#ended.reject(new Error(JSON.stringify(event)))
  }

  /** A block may arrive in deltas, and then once more as a whole. */
  #write(blockId: string, offset: number, text: string): void {
    const had = this.#heard.get(blockId) ?? 0
    if (offset > had || offset + text.length <= had) return
    this.#heard.set(blockId, offset + text.length)
    this.#hear(text.slice(had - offset))
  }

  #fail(error: Error): void {
    this.#caughtUp.reject(error)
    this.#ended.reject(error)
  }
}
