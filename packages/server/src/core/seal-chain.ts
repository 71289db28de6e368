import {
  type EventOf,
  type EventType,
  hasContent,
  ParleyError,
  type SessionEvent,
  type SessionState,
} from '@parley/protocol'
import { leafOf, SealHash, signedText } from './seal-text.ts'
import type { SessionStore, StoredEvent } from './session-store.ts'
import { shownEvent, shownText } from './shown-secrets.ts'

/** PORT. The key with which a process signs seals. */
export type Sealer = {
  readonly keyId: string
  /** The Ed25519 signature of a text, in base64url. */
  sign(text: string): string
  /** 16 random characters. */
  salt(): string
}

/** The events after which a log is sealed: the end of a turn, of an agent and of a session's work. */
const sealed: ReadonlySet<EventType> = new Set([
  'turn.ended',
  'turn.parked',
  'agent.disconnected',
  'session.released',
])

/** True if the batch must end with a seal. Answers of people are sealed at once. */
export function isSealed(events: readonly SessionEvent[]): boolean {
  return events.some((event) => {
    const isAnswer = event.type === 'permission.resolved' || event.type === 'question.resolved'
    return sealed.has(event.type) || (isAnswer && event.by === 'person')
  })
}

/** The salt of an event, if it has content. The first event always has a salt: it shows that the log has seals. */
export function saltOf(event: { readonly type: EventType }, sealer: Sealer | undefined): string | undefined {
  const isSalted = hasContent(event) || event.type === 'session.created'
  return isSalted ? sealer?.salt() : undefined
}

const pageSize = 1000
/**
 * The number of events, and the total length of texts, whose leaves are computed at once. Computing each leaf
 * separately takes twice as long, because other code runs in between.
 */
const leavesAtOnce = { events: 32, length: 32_768 }

/** The seals of one log. Missing parts of the log are read from the store, so a restart continues the same chain. */
export class SealChain {
  readonly #sealer: Sealer
  readonly #store: Pick<SessionStore, 'read'>
  readonly #sessionId: string
  #from: number
  #prev: string
  #hash: SealHash
  /** The last event whose leaf is in the hash, or whose text waits to be added to it. */
  #upTo: number
  #waiting: string[] = []
  #waitingLength = 0
  #isLate = false

  constructor(sealer: Sealer, store: Pick<SessionStore, 'read'>, { id, sealed }: SessionState) {
    this.#sealer = sealer
    this.#store = store
    this.#sessionId = id
    this.#from = sealed?.seq ?? 1
    this.#prev = sealed?.hash ?? ''
    this.#hash = new SealHash(id, this.#from, this.#prev)
    this.#upTo = this.#from - 1
  }

  /**
   * Adds announced events, with the texts that readers get; `seal` is the last event, if it is a seal. Events that do
   * not follow directly are read from the store later.
   */
  add(events: readonly StoredEvent[], seal?: EventOf<'log.sealed'>): void {
    if (seal) this.#continueAfter(seal)
    for (const { seq, json } of seal ? events.slice(-1) : events) {
      if (seq !== this.#upTo + 1) return
      if (seq === 1) this.#isLate = isLate(json)
      this.#upTo = seq
      this.#waiting.push(json)
      this.#waitingLength += json.length
      const { events, length } = leavesAtOnce
      if (this.#waiting.length >= events || this.#waitingLength >= length) this.#hashWaiting()
    }
  }

  /** Returns the seal of these events, which are not stored yet and follow the event `head`. */
  async sealAfter(head: number, events: readonly StoredEvent[], at: number): Promise<StoredEvent> {
    const to = head + events.length
    await this.#readUpTo(head)
    this.#hashWaiting()
    const first = events.find(({ seq }) => seq === 1)
    const late = first ? isLate(first.json) : this.#isLate
    const text = JSON.stringify({
      seq: to + 1,
      at,
      sessionId: this.#sessionId,
      type: 'log.sealed',
      from: this.#from,
      to,
      prev: this.#prev,
      hash: this.#hash.upTo(to, leavesOf(events.map(({ json }) => shownText(json)))),
      ...(this.#from === 1 && late && { late: true }),
      keyId: this.#sealer.keyId,
    })
    return { seq: to + 1, json: signedText(text, this.#sealer.sign) }
  }

  #continueAfter({ seq, hash }: EventOf<'log.sealed'>): void {
    this.#from = seq
    this.#prev = hash
    this.#hash = new SealHash(this.#sessionId, seq, hash)
    this.#upTo = seq - 1
    this.#waiting = []
    this.#waitingLength = 0
  }

  #hashWaiting(): void {
    if (this.#waiting.length > 0) this.#hash.add(leavesOf(this.#waiting))
    this.#waiting = []
    this.#waitingLength = 0
  }

  async #readUpTo(head: number): Promise<void> {
    while (this.#upTo < head) {
      const limit = Math.min(pageSize, head - this.#upTo)
      const page = await this.#store.read(this.#sessionId, { after: this.#upTo, limit })
      if (page[0]?.seq !== this.#upTo + 1) throw unreadable(this.#sessionId, this.#upTo + 1)
      this.add(page.map(shownEvent))
    }
  }
}

function leavesOf(texts: readonly string[]): string {
  return texts.map(leafOf).join('')
}

function isLate(json: string): boolean {
  return (JSON.parse(json) as SessionEvent).salt === undefined
}

function unreadable(sessionId: string, seq: number): ParleyError {
  return new ParleyError('internal_error', `Event ${seq} of session ${sessionId} is missing in the database.`)
}
