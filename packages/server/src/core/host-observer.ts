import {
  type EventOf,
  isRecord,
  type SessionEvent,
  type SessionState,
  type UnrecognisedMessages,
} from '@parley/protocol'
import { shownRecord, shownState } from './shown-secrets.ts'

/**
 * Called with everything that a host records, in order, as it happens. The host does not wait for an observer: an
 * observer must return at once, and must not change its arguments. An error that it throws is reported and has no
 * other effect.
 */
export type HostObserver = {
  /** A session was loaded into memory. It is new or was stored, possibly in the middle of a turn. */
  opened(state: SessionState): void
  /**
   * Events that were stored and announced; `state` is the state after them. The events of a copied log are not
   * reported.
   */
  recorded(events: readonly SessionEvent[], state: SessionState): void
  /** A session was removed from memory; it may be opened again. */
  left(sessionId: string): void
}

/**
 * Calls both observers, the first one first. An exception of the first does not stop the second from being called.
 */
export function bothObservers(first: HostObserver, second: HostObserver | undefined): HostObserver {
  if (!second) return first
  const notify = (call: (observer: HostObserver) => void) => {
    try {
      call(first)
    } finally {
      call(second)
    }
  }
  return {
    opened: (state) => notify((one) => one.opened(state)),
    recorded: (events, state) => notify((one) => one.recorded(events, state)),
    left: (sessionId) => notify((one) => one.left(sessionId)),
  }
}

/** The same observer, with its exceptions reported instead of thrown. */
export function guardedObserver(
  observer: HostObserver,
  problem: (problem: { error: unknown; doing: string; sessionId: string }) => void,
): HostObserver {
  const notify = (sessionId: string, call: (observer: HostObserver) => void) => {
    try {
      call(observer)
    } catch (error) {
      problem({ error, doing: 'notify an observer', sessionId })
    }
  }
  return {
    opened: (state) => notify(state.id, (one) => one.opened(shownState(state))),
    recorded: (events, state) =>
      notify(state.id, (one) => one.recorded(events.map(shownRecord), shownState(state))),
    left: (sessionId) => notify(sessionId, (one) => one.left(sessionId)),
  }
}

/** Agents choose the names of their messages, so the number and the length of kinds are limited. */
const maxKinds = 8
const maxKindLength = 120

type Message = Pick<EventOf<'agent.unrecognised'>, 'native' | 'reason'> & { readonly at: number }

/** Counts the messages of one agent that were not understood. */
export class UnrecognisedCount {
  #count = 0
  #since = Number.POSITIVE_INFINITY
  readonly #kinds = new Map<string, number>()

  add(message: Message): void {
    this.#count++
    this.#since = Math.min(this.#since, message.at)
    const kind = kindOf(message)
    const known = this.#kinds.get(kind)
    if (known !== undefined || this.#kinds.size < maxKinds) this.#kinds.set(kind, (known ?? 0) + 1)
  }

  /** Undefined if there was no such message. */
  get total(): UnrecognisedMessages | undefined {
    if (this.#count === 0) return undefined
    const kinds = [...this.#kinds].map(([kind, count]) => ({ kind, count }))
    return {
      count: this.#count,
      since: this.#since,
      kinds: kinds.sort((one, other) => other.count - one.count),
    }
  }
}

/** Counts the messages of each agent that a host records. */
export function countByAgent() {
  const counts = new Map<string, UnrecognisedCount>()
  const observer: HostObserver = {
    opened: () => undefined,
    recorded(events, { agent }) {
      for (const event of events) {
        if (event.type !== 'agent.unrecognised') continue
        const count = counts.get(agent) ?? new UnrecognisedCount()
        counts.set(agent, count)
        count.add(event)
      }
    },
    left: () => undefined,
  }
  return {
    observer,
    of: (agent: string) => counts.get(agent)?.total,
    forget: (agent: string) => void counts.delete(agent),
  }
}

/** The reason why the message was not understood, with the name of the message if the reason does not contain it. */
function kindOf({ native, reason = '' }: Message): string {
  const name = nameOf(native)
  const words = reason.includes(name) ? reason : [name, reason].filter(Boolean).join(': ')
  const kind = words.replace(/\s+/g, ' ').trim().slice(0, maxKindLength).toWellFormed()
  return kind || 'a message without a name'
}

/** The name that a message has in the protocol of its agent: a method or a type, each with its second part. */
function nameOf(native: unknown): string {
  if (!isRecord(native)) return ''
  const params = isRecord(native.params) ? native.params : {}
  const update = isRecord(params.update) ? params.update : {}
  const parts =
    typeof native.method === 'string' ? [native.method, update.sessionUpdate] : [native.type, native.subtype]
  return parts.filter((part) => typeof part === 'string').join('/')
}
