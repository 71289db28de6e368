import {
  type EventOf,
  type EventType,
  ParleyError,
  type SessionEvent,
  type SessionState,
} from '@parley/protocol'
import { Salts } from './salts.ts'
import { leafOf, SealHash, saltedLeaf, signedText, splitSecrets, withSecrets } from './seal-text.ts'
import type { SessionStore, StoredEvent } from './session-store.ts'
import { shownEvent, shownText } from './shown-secrets.ts'

/** PORT. The key with which a process signs seals. */
export type Sealer = {
  readonly keyId: string
  /** The Ed25519 signature of a text, in base64url. */
  sign(text: string): string
  /** 16 random bytes, in base64url. */
  seed(): string
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

/** The salt in the text of an event. Only the first event has one: it shows that the log has seals. */
export function saltOf(event: { readonly type: EventType }, sealer: Sealer | undefined): string | undefined {
  return event.type === 'session.created' ? sealer?.seed().slice(0, 16) : undefined
}

const pageSize = 1000
/**
 * The number of events, and the total length of texts, whose leaves are computed at once. Computing each leaf
 * separately takes twice as long, because other code runs in between.
 */
const leavesAtOnce = { events: 128, length: 131_072 }

/**
 * The seals of one log. Missing parts of the log are read from the store, so a restart continues the same chain. The
 * seed of the next seal is only in memory until that seal is written; after a restart, there is a new one.
 */
export class SealChain {
  readonly #sealer: Sealer
  readonly #store: Pick<SessionStore, 'read'>
  readonly #sessionId: string
  #from: number
  #prev: string
  #hash: SealHash
  #seed: string
  #salts: Salts
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
    this.#hash = new SealHash(id, this.#from, this.#prev, 2)
    this.#seed = sealer.seed()
    this.#salts = new Salts({ seed: this.#seed })
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
      this.#waiting.push(seal ? splitSecrets(json).text : json)
      this.#waitingLength += json.length
      const { events, length } = leavesAtOnce
      if (this.#waiting.length >= events || this.#waitingLength >= length) this.#hashWaiting()
    }
  }

  /** Returns the seal of these events, which are not stored yet and follow the event `head`. */
  async sealAfter(head: number, events: readonly StoredEvent[], at: number): Promise<StoredEvent> {
    const to = head + events.length
    await this.#readUpTo(head)
    const first = events.find(({ seq }) => seq === 1)
    const late = first ? isLate(first.json) : this.#isLate
    const shown = events.map(({ json }) => shownText(json))
    const text = JSON.stringify({
      seq: to + 1,
      at,
      sessionId: this.#sessionId,
      type: 'log.sealed',
      from: this.#from,
      to,
      prev: this.#prev,
      hash: this.#hash.upTo(to, this.#leavesOf(shown, head + 1)),
      ...(this.#from === 1 && late && { late: true }),
      keyId: this.#sealer.keyId,
    })
    return { seq: to + 1, json: withSecrets(signedText(text, this.#sealer.sign), { seed: this.#seed }) }
  }

  #continueAfter({ seq, hash }: EventOf<'log.sealed'>): void {
    this.#from = seq
    this.#prev = hash
    this.#hash = new SealHash(this.#sessionId, seq, hash, 2)
    this.#seed = this.#sealer.seed()
    this.#salts = new Salts({ seed: this.#seed })
    this.#upTo = seq - 1
    this.#waiting = []
    this.#waitingLength = 0
  }

  #hashWaiting(): void {
    const first = this.#upTo - this.#waiting.length + 1
    if (this.#waiting.length > 0) this.#hash.add(this.#leavesOf(this.#waiting, first))
    this.#waiting = []
    this.#waitingLength = 0
  }

  /** The leaves of events that follow one another, and of which no redaction has replaced any; `first` is the first seq. */
  #leavesOf(texts: readonly string[], first: number): string {
    let leaves = ''
    let offset = first - this.#from
    for (const text of texts) leaves += saltedLeaf(text, this.#salts.at(offset++) ?? '')
    return leaves
  }

  async #readUpTo(head: number): Promise<void> {
    this.#hashWaiting()
    while (this.#upTo < head) {
      const limit = Math.min(pageSize, head - this.#upTo)
      const page = await this.#store.read(this.#sessionId, { after: this.#upTo, limit })
      for (const { seq, json } of page.map(shownEvent)) {
        if (seq !== this.#upTo + 1) throw unreadable(this.#sessionId, this.#upTo + 1)
        if (seq === 1) this.#isLate = isLate(json)
        this.#hash.add(leafOf(json, this.#salts.at(seq - this.#from)))
        this.#upTo = seq
      }
      if (page.length === 0) throw unreadable(this.#sessionId, this.#upTo + 1)
    }
  }
}

function isLate(json: string): boolean {
  return (JSON.parse(json) as SessionEvent).salt === undefined
}

function unreadable(sessionId: string, seq: number): ParleyError {
  return new ParleyError('internal_error', `Event ${seq} of session ${sessionId} is missing in the database.`)
}
