import {
  type FollowStatus,
  ParleyError,
  type ServerFrame,
  type SessionEvent,
  type UnknownEvent,
} from '@parley/protocol'
import { type Backoff, createBackoff } from './backoff.ts'
import type { Clock } from './clock.ts'
import { callSafely } from './listeners.ts'
import { advance, type Reader, restart, startingPoint } from './reader.ts'
import type { Socket } from './socket.ts'

type FrameOf<Type extends ServerFrame['type']> = Extract<ServerFrame, { type: Type }>

export type ChannelParts = {
  readonly socket: Socket
  readonly clock: Clock
  /** Called when no reader is left. */
  readonly gone: () => void
}

/** After this many gaps in a row a reader fails: following again does not fill a gap in the stored log. */
const gapsAllowed = 3

/**
 * All readers of one session. They share one follow on the wire, from the lowest of their cursors; each drops the
 * events that it already has. A reader whose cursor does not match the received events is not synced: it receives
 * nothing, and the channel sends another follow for it.
 */
export class SessionChannel {
  readonly #session: string
  readonly #parts: ChannelParts
  readonly #readers = new Set<Reader>()
  readonly #backoff: Backoff = createBackoff()
  /**
   * The follow that was sent and not answered yet. Two follows are never pending at once, so an answer always
   * belongs to this follow.
   */
  #asked: { readonly after: number; readonly native: boolean } | undefined
  #native = false
  #cancelRetry = () => {}

  constructor(session: string, parts: ChannelParts) {
    this.#session = session
    this.#parts = parts
  }

  join(reader: Reader): void {
    this.#readers.add(reader)
    this.ask()
  }

  leave(reader: Reader): void {
    reader.forgetSignal()
    if (!this.#readers.delete(reader) || this.#readers.size > 0 || this.#asked) return
    this.#end()
  }

  ask(): void {
    this.#cancelRetry()
    if (this.#asked || this.#readers.size === 0) return
    const { after, epoch } = startingPoint(this.#readers)
    const native = [...this.#readers].some((reader) => reader.native)
    const sent = this.#parts.socket.send({ type: 'follow', session: this.#session, after, epoch, native })
    if (sent) this.#asked = { after, native }
  }

  receive(frame: ServerFrame): void {
    if (frame.type === 'following') return this.#answered(frame)
    if (frame.type === 'event') return this.#event(frame.event)
    if (frame.type === 'delta') return this.#delta(frame)
    if (frame.type === 'native') return this.#nativeMessage(frame)
    if (frame.type === 'caught-up') return this.#caughtUp(frame.seq)
    if (frame.type === 'error') return this.#refused(ParleyError.from(frame.error))
    if (frame.type === 'session-changed' && frame.change === 'deleted') this.failAll(deleted(this.#session))
  }

  evicted(): void {
    this.disconnected()
    this.ask()
  }

  disconnected(): void {
    this.#asked = undefined
    if (this.#readers.size === 0) return this.#parts.gone()
    for (const reader of this.#readers) interrupt(reader)
  }

  failAll(error: ParleyError): void {
    this.#cancelRetry()
    this.#parts.gone()
    for (const reader of [...this.#readers]) this.#fail(reader, error)
  }

  #answered(frame: FrameOf<'following'>): void {
    const asked = this.#asked
    if (!asked) return
    this.#asked = undefined
    this.#native = asked.native
    this.#backoff.reset()
    if (this.#readers.size === 0) return this.#end()
    const start = frame.verdict === 'reset' ? 0 : asked.after
    for (const reader of [...this.#readers]) {
      if (restart(reader, frame)) callSafely(reader.listener.onReset, frame.epoch)
      reader.synced = reader.cursor >= start
      if (!reader.synced) continue
      callSafely(reader.listener.onFollowing, { epoch: frame.epoch, head: frame.head })
      become(reader, 'replaying')
    }
    if (this.#wantsMore()) this.ask()
  }

  /** True if a reader that joined while the follow was pending needs earlier events or native messages. */
  #wantsMore(): boolean {
    return [...this.#readers].some((reader) => !reader.synced || (reader.native && !this.#native))
  }

  #event(event: SessionEvent | UnknownEvent): void {
    for (const reader of [...this.#readers]) {
      const step = advance(reader, event.seq)
      if (step === 'next') callSafely(reader.listener.onEvent, event)
      if (step === 'gap') this.#missed(reader, event.seq)
    }
  }

  #delta({ delta }: FrameOf<'delta'>): void {
    for (const reader of [...this.#readers]) {
      if (reader.synced) callSafely(reader.listener.onDelta, delta)
    }
  }

  #nativeMessage({ native }: FrameOf<'native'>): void {
    for (const reader of [...this.#readers]) {
      if (reader.synced && reader.native) callSafely(reader.listener.onNative, native)
    }
  }

  #caughtUp(seq: number): void {
    for (const reader of [...this.#readers]) {
      if (!reader.synced) continue
      if (reader.cursor < seq) {
        this.#missed(reader, seq + 1)
        continue
      }
      become(reader, 'live')
      callSafely(reader.listener.onCaughtUp, seq)
    }
  }

  /**
   * Called when events before `seq` are missing. Requests them again; after several gaps in a row the reader
   * fails. An event is never skipped.
   */
  #missed(reader: Reader, seq: number): void {
    interrupt(reader)
    reader.gaps++
    if (reader.gaps < gapsAllowed) return this.ask()
    const session = this.#session
    const message = `The server omits events ${reader.cursor + 1} to ${seq - 1} of session ${session}.`
    this.#fail(reader, new ParleyError('internal_error', message, { details: { session } }))
  }

  #refused(error: ParleyError): void {
    this.disconnected()
    if (error.code !== 'busy' && error.code !== 'rate_limited') return this.failAll(error)
    this.#cancelRetry()
    this.#cancelRetry = this.#parts.clock.after(this.#backoff.next(), () => this.ask())
  }

  #fail(reader: Reader, error: ParleyError): void {
    this.leave(reader)
    callSafely(reader.listener.onError, error)
  }

  #end(): void {
    this.#cancelRetry()
    this.#parts.gone()
    this.#parts.socket.send({ type: 'unfollow', session: this.#session })
  }
}

function interrupt(reader: Reader): void {
  reader.synced = false
  if (reader.status !== 'connecting') become(reader, 'reconnecting')
}

function become(reader: Reader, status: FollowStatus): void {
  if (reader.status === status) return
  reader.status = status
  callSafely(reader.listener.onStatus, status)
}

function deleted(session: string): ParleyError {
  return new ParleyError('not_found', `Session ${session} was deleted.`, { details: { session } })
}
