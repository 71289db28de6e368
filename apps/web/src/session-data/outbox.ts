import type { Clock } from '@parley/client'
import { newId } from '@parley/protocol'
import type { TabLocks, TextStorage } from '../base/browser-storage.ts'
import { type Envelope, OutboxItems } from './outbox-items.ts'

/** The decision about an item: it is removed, or held with a reason that the person reads. */
export type Resolution = 'remove' | { readonly hold: string }

/** The parts of the browser that an outbox uses. */
export type OutboxBrowser = {
  readonly storage: TextStorage
  readonly locks: TabLocks
  readonly clock: Clock
  readonly tab: () => string
}

export type OutboxOptions<Content> = OutboxBrowser & {
  /** Part of the storage keys and of the lock names. */
  readonly name: string
  /** Whether a stored value has the content of an item. */
  readonly isContent: (value: Partial<Content>) => boolean
  /**
   * Sends an item. Resolves when the server has accepted the item, and rejects when the server has refused it. Waits
   * while the server is unreachable, and must use the same command id for each attempt. The signal aborts the sending.
   */
  readonly send: (item: Content & Envelope, signal: AbortSignal) => Promise<unknown>
  readonly onRefused: (item: Content & Envelope, error: unknown) => Resolution
  /** Called when the tab of an item was closed before the server accepted it. By default this tab sends the item. */
  readonly onAbandoned?: (item: Content & Envelope) => Resolution
  /** Items of one sequence are sent one after the other, oldest first. By default each item is its own sequence. */
  readonly sequenceOf?: (item: Content) => string
  /** An item that is not accepted after this time is marked as late. */
  readonly late?: { readonly ms: number; readonly tell: (item: Content & Envelope) => void }
  /** The number of accepted items that stay in the list, in memory only. */
  readonly keepSent?: number
}

/**
 * Holds commands until the server has accepted them. Items are stored, so a reload, a lost connection or a closed tab
 * loses nothing. An item is sent by one tab at a time and always under the same command id, so it takes effect once.
 * The tab that added the item sends it; when that tab is closed, another tab decides whether to send or hold the item.
 */
export class Outbox<Content extends object> {
  readonly #options: OutboxOptions<Content>
  readonly #items: OutboxItems<Content & Envelope>
  readonly #sending = new Map<string, AbortController>()
  /** For each sequence, a promise that resolves when its last item has had its turn to be sent. */
  readonly #turns = new Map<string, Promise<unknown>>()
  /** The sequences in which this page waits for an item of another tab. */
  readonly #watched = new Set<string>()
  readonly #stopping = new AbortController()
  #lastId = 0

  constructor(options: OutboxOptions<Content>) {
    const { storage, name, isContent } = options
    this.#options = options
    this.#items = new OutboxItems(storage, `parley:${name}:`, isContent as (value: object) => boolean)
  }

  readonly get = () => this.#items.get()
  readonly subscribe = (listener: () => void) => this.#items.subscribe(listener)

  /** Sends the items that this tab added before a reload, and all items that are added later. */
  start(): void {
    const { storage, name } = this.#options
    this.#items.removeUnreadable()
    this.#items.load()
    const stops = [
      storage.onChange((key) => {
        if (key === null || key.startsWith(`parley:${name}:`)) this.#items.load()
      }),
      this.#items.subscribe(() => this.#update()),
    ]
    this.#stopping.signal.addEventListener('abort', () => {
      for (const stop of stops) stop()
    })
    this.#update()
  }

  /** Stops sending. The stored items are kept, and this page no longer changes them. */
  stop(): void {
    this.#stopping.abort()
    for (const sending of this.#sending.values()) sending.abort()
  }

  add(content: Content, commandId = this.#newId()): string {
    this.#items.put({ ...content, commandId, tab: this.#options.tab(), state: 'sending', waited: false })
    return commandId
  }

  /** Removes an item and stops sending it. If the server has already accepted the item, it still takes effect. */
  withdraw(commandId: string): void {
    this.#sending.get(commandId)?.abort()
    this.#items.remove(commandId)
  }

  /** Sends a held item, from this tab. */
  sendHeld(commandId: string): void {
    const item = this.#items.find(commandId)
    if (item?.state !== 'held') return
    const { problem, ...rest } = item
    this.#items.put({ ...(rest as typeof item), tab: this.#options.tab(), state: 'late' })
  }

  isSending(commandId: string): boolean {
    return this.#sending.has(commandId)
  }

  /** Returns a new command id. Ids sort by creation time, even those of two items created in the same millisecond. */
  #newId(): string {
    this.#lastId = Math.max(this.#options.clock.now(), this.#lastId + 1)
    return newId('cmd', this.#lastId)
  }

  #update(): void {
    for (const item of this.#items.get()) {
      if (!isPending(item) || this.#sending.has(item.commandId)) continue
      if (item.tab === this.#options.tab()) void this.#deliver(item)
      else void this.#watch(item).catch(() => {})
    }
    // Stop sending items that were withdrawn in another tab.
    for (const [commandId, sending] of this.#sending) if (!this.#items.find(commandId)) sending.abort()
  }

  async #deliver(item: Content & Envelope): Promise<void> {
    const { commandId } = item
    const { send, locks, keepSent = 0, onRefused } = this.#options
    const controller = new AbortController()
    const { signal } = controller
    this.#sending.set(commandId, controller)
    const cancelLate = this.#markLate(commandId)
    const turn = this.#takeTurn(this.#sequenceOf(item))
    try {
      // The lock is taken before the item's turn: another tab must not treat a waiting item as abandoned.
      await locks.run(this.#lockOf(commandId), signal, async () => {
        await turn.comes
        // Another tab may have sent the item while this tab waited for the lock.
        this.#items.load()
        if (signal.aborted || !isPending(this.#items.find(commandId))) return
        await send(item, signal)
        this.#items.markSent(commandId, keepSent)
      })
    } catch (error) {
      if (!signal.aborted) this.#resolve(commandId, (current) => onRefused(current, error))
    } finally {
      cancelLate()
      this.#sending.delete(commandId)
      turn.end()
    }
  }

  /** The turn of an item in its sequence comes when the turns of all earlier items have ended. */
  #takeTurn(sequence: string): { readonly comes: Promise<unknown>; readonly end: () => void } {
    const comes = this.#turns.get(sequence) ?? Promise.resolve()
    const own = Promise.withResolvers<void>()
    const both = Promise.all([comes, own.promise])
    this.#turns.set(sequence, both)
    void both.then(() => this.#turns.get(sequence) === both && this.#turns.delete(sequence))
    return { comes, end: own.resolve }
  }

  #markLate(commandId: string): () => void {
    const { late, clock } = this.#options
    if (!late) return () => {}
    return clock.after(late.ms, () => {
      const item = this.#items.find(commandId)
      if (!item) return
      this.#items.put({ ...item, state: 'late', waited: true })
      late.tell(item)
    })
  }

  /**
   * Waits until an item of another tab is accepted, withdrawn or abandoned. Only one item of a sequence is watched at
   * a time.
   */
  async #watch(item: Content & Envelope): Promise<void> {
    const sequence = this.#sequenceOf(item)
    if (this.#watched.has(sequence)) return
    this.#watched.add(sequence)
    const isAbandoned = await this.#isAbandoned(item.commandId)
    if (this.#stopping.signal.aborted) return
    this.#watched.delete(sequence)
    if (isAbandoned) this.#resolve(item.commandId, this.#options.onAbandoned ?? (() => 'send'))
    this.#update()
  }

  /**
   * Whether the tab of an item was closed. The item's lock must still be free after a while: this page may learn of an
   * item before the item's tab takes the lock, and a reloaded tab takes the lock again.
   */
  async #isAbandoned(commandId: string): Promise<boolean> {
    const { locks, clock, tab } = this.#options
    const lock = this.#lockOf(commandId)
    for (;;) {
      await locks.run(lock, this.#stopping.signal, async () => {})
      await new Promise<void>((resolve) => clock.after(locks.graceMs, resolve))
      const isHeld = await locks.isHeld(lock)
      const item = this.#items.find(commandId)
      if (!isPending(item) || item.tab === tab()) return false
      if (!isHeld) return true
    }
  }

  #resolve(commandId: string, decide: (item: Content & Envelope) => Resolution | 'send'): void {
    const item = this.#items.find(commandId)
    if (!item) return
    const resolution = decide(item)
    if (resolution === 'remove') this.#items.remove(commandId)
    else if (resolution === 'send') this.#items.put({ ...item, tab: this.#options.tab() })
    else this.#items.put({ ...item, state: 'held', waited: true, problem: resolution.hold })
  }

  #sequenceOf(item: Content & Envelope): string {
    return this.#options.sequenceOf?.(item) ?? item.commandId
  }

  #lockOf(commandId: string): string {
    return `parley-${this.#options.name}-${commandId}`
  }
}

function isPending<Item extends Envelope>(item: Item | undefined): item is Item {
  return item?.state === 'sending' || item?.state === 'late'
}
