import type { SessionState } from '@parley/protocol'
import type { SessionStore } from '../../core/session-store.ts'
import { afterEach, beforeEach } from '../peers.ts'
import { eventsOf, stateOf } from '../store-samples.ts'

export type StoreUnderTest = {
  readonly store: SessionStore
  /** Closes the store and opens it again. A store that cannot be reopened gives the reason in `notDurable`. */
  readonly reopen?: () => Promise<SessionStore>
  readonly notDurable?: string
  /**
   * True if several processes can use the store. The store then separates the settings of folders at different places.
   */
  readonly hasPlaces?: boolean
  cleanup(): Promise<void>
}

/** The store of the running test, and the operations that most cases use. */
export type TestedStore = {
  readonly store: SessionStore
  readonly notDurable: string | undefined
  readonly hasPlaces: boolean
  /** Replaces `store` by the reopened store; false if the store cannot be reopened. */
  reopen(): Promise<boolean>
  create(id: string, changes?: Partial<SessionState>, count?: number): Promise<void>
  readAll(id: string): ReturnType<SessionStore['read']>
}

/** Opens a store before each test and removes it after the test. */
export function testedStore(open: () => Promise<StoreUnderTest>): TestedStore {
  let opened: StoreUnderTest
  let store: SessionStore
  beforeEach(async () => {
    opened = await open()
    store = opened.store
  })
  afterEach(() => opened.cleanup())
  return {
    get store() {
      return store
    },
    get notDurable() {
      return opened.notDurable
    },
    get hasPlaces() {
      return opened.hasPlaces ?? false
    },
    async reopen() {
      if (!opened.reopen) return false
      store = await opened.reopen()
      return true
    },
    create: (id, changes = {}, count = 1) =>
      store.create({
        sessionId: id,
        epoch: `epoch of ${id}`,
        state: stateOf(id, changes),
        events: eventsOf(id, 1, count),
      }),
    readAll: (id) => store.read(id, { limit: 10_000 }),
  }
}
