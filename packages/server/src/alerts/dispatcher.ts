import type { AlertStore } from '../core/alert-store.ts'
import { type DeliverParts, deliver } from './deliver-alerts.ts'
import { type DeriveParts, deriveAlerts } from './derive-alerts.ts'

export type DispatcherParts = DeriveParts &
  DeliverParts & {
    /** The duration of the claim of a delivery. Afterwards another process may send the delivery. */
    readonly claimMs: number
    /**
     * The interval at which to look for the work of processes that are gone. Undefined if no other process uses the
     * store.
     */
    readonly lookEveryMs: number | undefined
    readonly problem: (error: unknown, doing: string) => void
    /** Aborts the requests that wait for an answer. */
    readonly closing: () => void
  }

const sentAtOnce = 16
/** The limits of the time that the dispatcher waits before it looks for the next delivery. */
const shortestWaitMs = 5
const longestWaitMs = 60_000
/** The time that the dispatcher waits after the store has failed. */
const afterFailureMs = 2_000
const pruneEveryMs = 3600_000
const keptMs = 7 * 24 * 3600_000

/**
 * Derives deliveries from the logs, and sends them when they are due. All pending work is in the store, so another
 * process, or this process after a restart, continues it. Each alert is sent at least once.
 */
export class Dispatcher {
  readonly #parts: DispatcherParts
  readonly #toSearch = new Set<string>()
  readonly #underWay = new Set<Promise<void>>()
  #searching: Promise<void> | undefined
  #claiming: Promise<void> | undefined
  #claimAgain = false
  #timer: NodeJS.Timeout | undefined
  #look: NodeJS.Timeout | undefined
  #prunedAt = 0
  #isClosed = false

  constructor(parts: DispatcherParts) {
    this.#parts = parts
  }

  /** Continues the work that was left when the last process ended. */
  async start(): Promise<void> {
    const { store, lookEveryMs } = this.#parts
    if (lookEveryMs === undefined) await store.releaseDeliveries()
    await this.lookForWork()
    if (lookEveryMs === undefined || this.#isClosed) return
    this.#look = setInterval(() => void this.lookForWork(), lookEveryMs).unref()
  }

  /** Searches the logs of sessions that no living process owns, and sends the deliveries that are due. */
  async lookForWork(): Promise<void> {
    const { store, targets, problem } = this.#parts
    if (targets().length === 0) return
    try {
      const since = Math.min(...targets().map(({ createdAt }) => createdAt))
      for (const sessionId of await store.sessionsToSearch(since)) this.search(sessionId)
    } catch (error) {
      problem(error, 'look for sessions to search for alerts')
    }
    this.#deliverDue()
  }

  /** Searches the log of a session soon, but not in the current step of the event loop. */
  search(sessionId: string): void {
    if (this.#isClosed) return
    this.#toSearch.add(sessionId)
    this.#searching ??= this.#searchAll().finally(() => {
      this.#searching = undefined
    })
  }

  async #searchAll(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    for (const sessionId of this.#toSearch) {
      if (this.#isClosed) return
      this.#toSearch.delete(sessionId)
      if (this.#parts.targets().length === 0) continue
      try {
        // Another process has moved the cursor, so the search starts again from the new cursor.
        if (!(await deriveAlerts(this.#parts, sessionId))) this.#toSearch.add(sessionId)
      } catch (error) {
        this.#parts.problem(error, 'search a session for alerts')
        setTimeout(() => this.search(sessionId), afterFailureMs).unref()
      }
    }
    this.#deliverDue()
  }

  /** Sends every delivery that is due, and sets the timer for the next one. */
  #deliverDue(): void {
    if (this.#isClosed) return
    this.#claimAgain = true
    this.#claiming ??= this.#claimAll()
      .catch((error) => {
        this.#parts.problem(error, 'send alerts')
        this.#wakeIn(afterFailureMs)
      })
      .finally(() => {
        this.#claiming = undefined
        if (this.#claimAgain) this.#deliverDue()
      })
  }

  async #claimAll(): Promise<void> {
    const { store, now, claimMs } = this.#parts
    while (this.#claimAgain && !this.#isClosed) {
      this.#claimAgain = false
      await this.#prune(store, now())
      const limit = sentAtOnce - this.#underWay.size
      // When a running attempt ends, `#deliverDue` is called again.
      if (limit <= 0) return
      const at = now()
      const claimed = await store.claimDeliveries({ now: at, until: at + claimMs, limit })
      for (const one of claimed) {
        const sending: Promise<void> = deliver(this.#parts, one)
          .catch((error) => this.#parts.problem(error, 'send an alert'))
          .finally(() => {
            this.#underWay.delete(sending)
            this.#deliverDue()
          })
        this.#underWay.add(sending)
      }
      const next = await store.nextDelivery()
      if (next !== undefined) this.#wakeIn(next - now())
    }
  }

  #wakeIn(ms: number): void {
    if (this.#isClosed) return
    clearTimeout(this.#timer)
    const wait = Math.min(Math.max(ms, shortestWaitMs), longestWaitMs)
    this.#timer = setTimeout(() => this.#deliverDue(), wait).unref()
  }

  async #prune(store: AlertStore, now: number): Promise<void> {
    if (now - this.#prunedAt < pruneEveryMs) return
    this.#prunedAt = now
    await store.pruneDeliveries(now - keptMs)
  }

  /** Starts no further work and waits for the running attempts. The next process sends the remaining deliveries. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    clearInterval(this.#look)
    this.#parts.closing()
    await this.#searching
    await this.#claiming
    await Promise.all(this.#underWay)
  }
}
