import { type FollowStatus, ParleyError, type SessionView } from '@parley/protocol'
import type { ClientParts } from './client-parts.ts'
import { asParleyError, cancelled } from './http.ts'
import { type BatchedStore, createBatchedStore, type LiveStore, type Schedule } from './live-store.ts'
import {
  type Change,
  type Loaded,
  loadedFrom,
  loadTail,
  nothingLoaded,
  readEvents,
  type SessionTail,
  tailOf,
  withChanges,
  withOlder,
} from './loaded-session.ts'
import type { FollowListener } from './reader.ts'
import { untilReached } from './retry.ts'

/**
 * A view of a session that is kept current. Whenever the connection is live, even after interruptions, `state` is the
 * server's, and `timeline` is the fold of the log from the first event that was loaded.
 */
export type Mirror = LiveStore<MirrorSnapshot> & {
  readonly sessionId: string
  /** Loads the next older page. Resolves at once if there is none; rejects if the page cannot be loaded. */
  loadOlder(): Promise<void>
  /**
   * Resolves with the first snapshot for which `holds` is true; rejects if the mirror fails or closes, or the signal
   * fires.
   */
  until(holds: (snapshot: MirrorSnapshot) => boolean, signal?: AbortSignal): Promise<MirrorSnapshot>
  /** The end of the loaded events, within these limits, to be stored and passed to a later mirror as `start`. */
  tail(limits: { readonly events: number; readonly characters: number }): SessionTail
  close(): void
}

export type MirrorSnapshot = {
  readonly status: 'loading' | 'live' | 'reconnecting' | 'closed' | 'failed'
  readonly view: SessionView
  /**
   * The error with which the mirror failed or, while it is loading or reconnecting, the reason for the delay.
   */
  readonly error?: ParleyError
  /** True if the timeline begins at the start of the log. */
  readonly atStart: boolean
}

export type MirrorOptions = {
  /** The number of events at the end of the log that are loaded first. 'all' folds the whole log. */
  readonly tail?: number | 'all'
  /** The number of events that `loadOlder` loads. */
  readonly page?: number
  /** A stored result of `tail()`. It is shown at once; if the log is still the same, the mirror continues from it. */
  readonly start?: () => Promise<SessionTail | undefined>
  readonly schedule?: Schedule
}

export function createMirror(client: ClientParts, sessionId: string, options: MirrorOptions = {}): Mirror {
  return new SessionMirror(client, sessionId, options)
}

class SessionMirror implements Mirror {
  readonly sessionId: string
  readonly subscribe: Mirror['subscribe']
  readonly getSnapshot: Mirror['getSnapshot']
  readonly #client: ClientParts
  readonly #options: MirrorOptions
  readonly #store: BatchedStore<MirrorSnapshot>
  readonly #controller = new AbortController()
  readonly #forgetConnection: () => void
  #status: MirrorSnapshot['status'] = 'loading'
  #error: ParleyError | undefined
  #loaded: Loaded
  #changes: Change[] = []
  #older: Promise<void> | undefined

  constructor(client: ClientParts, sessionId: string, options: MirrorOptions) {
    this.sessionId = sessionId
    this.#client = client
    this.#options = options
    this.#loaded = nothingLoaded(sessionId, '')
    this.#store = createBatchedStore(() => this.#snapshot(), options.schedule)
    this.subscribe = this.#store.subscribe
    this.getSnapshot = this.#store.getSnapshot
    this.#forgetConnection = client.socket.onStatus((connection) => {
      if (connection.state === 'waiting' && connection.error) this.#become(this.#status, connection.error)
    })
    client.closing.addEventListener('abort', this.close, { once: true })
    if (client.closing.aborted) this.close()
    else void this.#start().catch((thrown: unknown) => this.#end('failed', asParleyError(thrown)))
  }

  loadOlder(): Promise<void> {
    this.#older ??= this.#loadOlder().finally(() => {
      this.#older = undefined
    })
    return this.#older
  }

  until(holds: (snapshot: MirrorSnapshot) => boolean, signal?: AbortSignal): Promise<MirrorSnapshot> {
    return until(this.#store, holds, signal)
  }

  tail(limits: { readonly events: number; readonly characters: number }): SessionTail {
    this.#foldChanges()
    return tailOf(this.#loaded, limits)
  }

  readonly close = (): void => this.#end('closed')

  get #signal(): AbortSignal {
    return this.#controller.signal
  }

  async #start(): Promise<void> {
    const { tail = 200 } = this.#options
    const client = this.#client
    client.socket.open()
    if (tail !== 'all') {
      const start = await this.#kept()
      const load = () => loadTail({ client, sessionId: this.sessionId, tail, start, signal: this.#signal })
      this.#loaded = await untilReached(load, {
        clock: client.clock,
        socket: client.socket,
        signal: this.#signal,
        busyToo: true,
        onUnreachable: (why) => this.#become('loading', why),
      })
      this.#become('loading')
    }
    const { seq, epoch } = this.#loaded.view.state
    const from = { after: seq, ...(epoch && { epoch }), signal: this.#signal }
    client.follow(this.sessionId, this.#listener(), from)
  }

  /**
   * Reads the stored tail, which is shown until the server answers. If it cannot be read, the mirror loads
   * without it.
   */
  async #kept(): Promise<Loaded | undefined> {
    const kept = await this.#options.start?.().catch(() => undefined)
    if (!kept || kept.state.id !== this.sessionId || this.#isOver()) return undefined
    this.#loaded = loadedFrom(kept)
    this.#become('loading', this.#error)
    return this.#loaded
  }

  #listener(): FollowListener {
    const change = (one: Change) => {
      this.#changes.push(one)
      this.#store.touch(this.#status === 'live' ? 'soon' : 'later')
    }
    return {
      onFollowing: ({ epoch }) => {
        if (this.#loaded.view.state.epoch === '') this.#loaded = nothingLoaded(this.sessionId, epoch)
      },
      onEvent: (event) => change({ event }),
      onDelta: (delta) => change({ delta }),
      onReset: (epoch) => {
        this.#changes = []
        this.#loaded = nothingLoaded(this.sessionId, epoch)
        this.#become('loading')
      },
      onStatus: (status) => this.#become(statusOf(status, this.#status), this.#error),
      onCaughtUp: () => this.#become('live'),
      onError: (why) => this.#end(why.code === 'cancelled' ? 'closed' : 'failed', why),
    }
  }

  async #loadOlder(): Promise<void> {
    const { firstSeq } = this.#loaded
    if (firstSeq <= 1 || this.#isOver()) return
    const { page: limit = 500 } = this.#options
    const { sessionId } = this
    const input = { client: this.#client, sessionId, before: firstSeq, limit, signal: this.#signal }
    const above = await readEvents(input)
    const sameLog = above.epoch === this.#loaded.view.state.epoch && this.#loaded.firstSeq === firstSeq
    if (!sameLog) return
    if (above.events.at(-1)?.seq !== firstSeq - 1) {
      throw new ParleyError('internal_error', `The server omitted events before ${firstSeq}.`)
    }
    this.#foldChanges()
    this.#loaded = withOlder(this.#loaded, above)
    this.#store.touch()
  }

  #snapshot(): MirrorSnapshot {
    this.#foldChanges()
    const { view, firstSeq } = this.#loaded
    const atStart = view.state.seq > 0 && firstSeq <= 1
    return { status: this.#status, view, ...(this.#error && { error: this.#error }), atStart }
  }

  #foldChanges(): void {
    this.#loaded = withChanges(this.#loaded, this.#changes)
    this.#changes = []
  }

  #become(status: MirrorSnapshot['status'], error?: ParleyError): void {
    if (this.#isOver()) return
    this.#status = status
    this.#error = error
    this.#store.touch()
  }

  #end(status: 'closed' | 'failed', error?: ParleyError): void {
    this.#become(status, error)
    this.#controller.abort()
    this.#client.closing.removeEventListener('abort', this.close)
    this.#forgetConnection()
  }

  #isOver(): boolean {
    return this.#status === 'closed' || this.#status === 'failed'
  }
}

function statusOf(follow: FollowStatus, before: MirrorSnapshot['status']): MirrorSnapshot['status'] {
  if (follow === 'live') return 'live'
  if (follow === 'reconnecting') return 'reconnecting'
  return before
}

function until(
  store: LiveStore<MirrorSnapshot>,
  holds: (snapshot: MirrorSnapshot) => boolean,
  signal?: AbortSignal,
): Promise<MirrorSnapshot> {
  return new Promise((resolve, reject) => {
    const settle = (result: () => void) => {
      unsubscribe()
      signal?.removeEventListener('abort', look)
      result()
    }
    const look = () => {
      const snapshot = store.getSnapshot()
      if (holds(snapshot)) return settle(() => resolve(snapshot))
      if (signal?.aborted) return settle(() => reject(cancelled(signal)))
      if (snapshot.status !== 'failed' && snapshot.status !== 'closed') return
      settle(() => reject(snapshot.error ?? new ParleyError('cancelled', 'The mirror was closed.')))
    }
    const unsubscribe = store.subscribe(look)
    signal?.addEventListener('abort', look, { once: true })
    look()
  })
}
