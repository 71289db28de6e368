import type { Clock } from '@parley/client'
import type { PromptPart } from '@parley/protocol'
import type { TabLocks, TextStorage } from '../src/base/browser-storage.ts'
import type { AttachmentStorage } from '../src/session-data/prompt-draft.ts'

/** A tab, as a test uses it. After `close`, its code has no effect. */
export type FakeTab = {
  readonly id: string
  readonly storage: TextStorage
  readonly locks: TabLocks
  readonly clock: Clock
  readonly isClosed: boolean
  close(): void
}

type Tab = FakeTab & {
  readonly listeners: Set<(key: string | null) => void>
  /** Storage events that have not arrived yet. */
  readonly events: (string | null)[]
}
type LockRequest = { readonly tab: Tab; readonly grant: () => void; isGranted: boolean }
type Timer = { readonly tab: Tab; readonly due: number; readonly call: () => void }

export const graceMs = 1500

/** Storage, locks and time of a browser without a page. Storage events arrive and promises settle in `settle`. */
export class FakeBrowser {
  readonly entries = new Map<string, string>()
  storageIs: 'usable' | 'full' | 'blocked' = 'usable'
  lockMs: () => number = () => 0
  #now = 1_000_000
  readonly #tabs = new Set<Tab>()
  readonly #timers = new Set<Timer>()
  /** The requests for each lock. The first request holds the lock. */
  readonly #locks = new Map<string, LockRequest[]>()

  /** Opens a tab or, if the id of a closed tab is given, reloads that tab. */
  openTab(id?: string): FakeTab {
    this.#now += 100
    let isClosed = false
    const tab: Tab = {
      id: id ?? `tab-${this.#now}`,
      listeners: new Set(),
      events: [],
      storage: this.#storageFor(() => tab),
      locks: this.#locksFor(() => tab),
      clock: this.#clockFor(() => tab),
      get isClosed() {
        return isClosed
      },
      close: () => {
        isClosed = true
        this.#forget(tab)
      },
    }
    this.#tabs.add(tab)
    return tab
  }

  async settle(): Promise<void> {
    for (let round = 0; round < 5; round++) {
      for (const tab of this.#tabs) {
        for (const key of tab.events.splice(0)) for (const listener of [...tab.listeners]) listener(key)
      }
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** Advances the time. Calls that become due are made in order. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms
    for (;;) {
      await this.settle()
      const [next] = [...this.#timers].filter(({ due }) => due <= end).sort((a, b) => a.due - b.due)
      if (!next) break
      this.#timers.delete(next)
      this.#now = Math.max(this.#now, next.due)
      next.call()
    }
    this.#now = end
  }

  #forget(tab: Tab): void {
    this.#tabs.delete(tab)
    for (const timer of this.#timers) if (timer.tab === tab) this.#timers.delete(timer)
    for (const [name, requests] of this.#locks) {
      for (const request of requests.filter((one) => one.tab === tab)) this.#release(name, request)
    }
  }

  #storageFor(tabOf: () => Tab): TextStorage {
    const change = (key: string, work: () => void) => {
      if (tabOf().isClosed) return
      work()
      for (const other of this.#tabs) if (other !== tabOf()) other.events.push(key)
    }
    const refuse = (...kinds: string[]) => {
      if (kinds.includes(this.storageIs)) throw new Error(`storage is ${this.storageIs}`)
    }
    return {
      keys: () => {
        refuse('blocked')
        return [...this.entries.keys()]
      },
      get: (key) => {
        refuse('blocked')
        return this.entries.get(key) ?? null
      },
      set: (key, text) => {
        refuse('blocked', 'full')
        change(key, () => this.entries.set(key, text))
      },
      remove: (key) => {
        refuse('blocked')
        if (this.entries.has(key)) change(key, () => this.entries.delete(key))
      },
      onChange: (listener) => {
        tabOf().listeners.add(listener)
        return () => tabOf().listeners.delete(listener)
      },
    }
  }

  #locksFor(tabOf: () => Tab): TabLocks {
    return {
      graceMs,
      isHeld: async (name) => this.#locks.get(name)?.[0]?.isGranted ?? false,
      run: (name, signal, work) =>
        new Promise((resolve, reject) => {
          const tab = tabOf()
          const grant = () => {
            if (!this.#locks.get(name)?.includes(request)) return
            signal.removeEventListener('abort', abort)
            request.isGranted = true
            work()
              .then(resolve, reject)
              .finally(() => this.#release(name, request))
          }
          const request = { tab, grant, isGranted: false }
          const abort = () => {
            this.#release(name, request)
            reject(signal.reason)
          }
          if (tab.isClosed) return
          if (signal.aborted) return reject(signal.reason)
          signal.addEventListener('abort', abort)
          const requests = this.#locks.get(name) ?? []
          this.#locks.set(name, requests)
          if (requests.push(request) === 1) this.#grant(request)
        }),
    }
  }

  #release(name: string, request: LockRequest): void {
    const requests = this.#locks.get(name) ?? []
    const place = requests.indexOf(request)
    if (place < 0) return
    requests.splice(place, 1)
    if (place === 0 && requests[0]) this.#grant(requests[0])
  }

  #grant({ tab, grant }: LockRequest): void {
    const ms = this.lockMs()
    if (ms > 0) tab.clock.after(ms, grant)
    else queueMicrotask(grant)
  }

  #clockFor(tabOf: () => Tab): Clock {
    return {
      now: () => this.#now,
      after: (ms, call) => {
        const timer = { tab: tabOf(), due: this.#now + ms, call }
        if (!timer.tab.isClosed) this.#timers.add(timer)
        return () => void this.#timers.delete(timer)
      },
    }
  }
}

/** A server that accepts commands while it is reachable. A repeated command id has no second effect. */
export class FakeServer<Content> {
  isReachable = true
  /** The accepted commands, in the order of their effects. */
  readonly effects: (Content & { readonly commandId: string })[] = []
  /** The ids of all commands that arrived, with repetitions. */
  readonly arrivals: string[] = []
  /** The error that refuses a command; undefined if it is accepted. */
  refusal: (content: Content) => Error | undefined = () => undefined
  /** Whether receipts are lost, so that the sender waits. */
  losesReceipts = false
  /** The time that a command takes to arrive. */
  delayMs: () => number = () => 0
  readonly #waiting = new Set<() => void>()

  goOnline(): void {
    this.isReachable = true
    for (const attempt of [...this.#waiting]) attempt()
  }

  /** Sends as the client does: it waits while the server is unreachable. */
  send(tab: FakeTab, command: Content & { readonly commandId: string }, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const attempt = () => {
        if (tab.isClosed || signal.aborted || !this.isReachable) return
        this.#waiting.delete(attempt)
        this.arrivals.push(command.commandId)
        const error = this.refusal(command)
        const isKnown = this.effects.some(({ commandId }) => commandId === command.commandId)
        if (!error && !isKnown) this.effects.push(command)
        if (this.losesReceipts) return void this.#waiting.add(attempt)
        if (error && !isKnown) reject(error)
        else resolve()
      }
      signal.addEventListener('abort', () => {
        this.#waiting.delete(attempt)
        reject(signal.reason)
      })
      const ms = this.delayMs()
      const depart = () => {
        this.#waiting.add(attempt)
        attempt()
      }
      if (ms > 0) tab.clock.after(ms, depart)
      else depart()
    })
  }
}

/** Attachments in memory. Reading can be slowed down or made impossible. */
export class FakeAttachments implements AttachmentStorage {
  readonly entries = new Map<string, readonly PromptPart[]>()
  isUsable = true
  isSlow = false
  #finish = () => {}

  async read(id: string): Promise<readonly PromptPart[]> {
    if (this.isSlow) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#finish = resolve
      await promise
    }
    return this.entries.get(id) ?? []
  }

  write(id: string, parts: readonly PromptPart[]): void {
    if (parts.length > 0 && this.isUsable) this.entries.set(id, parts)
    else this.entries.delete(id)
  }

  finish(): void {
    this.#finish()
  }
}
