import { createHash } from 'node:crypto'
import { hasCode, type LedgerEntry, ledgerText, ParleyError } from '@parley/protocol'
import type { Clock } from './clock.ts'
import type { LedgerDraft, LedgerQuery, LedgerStore, SealKey } from './ledger-store.ts'
import type { Sealer } from './seal-chain.ts'

/** The operations of a host on the ledger of its store. */
export type LedgerMethods = {
  /**
   * Records a fact in the ledger. The fact is durable when the promise resolves. Without a ledger, this does nothing.
   */
  recordInLedger(draft: Omit<LedgerDraft, 'at'>): Promise<void>
  /** Entries of the ledger, with everything that was recorded before the call. */
  ledgerEntries(query: LedgerQuery): Promise<LedgerEntry[]>
  lastLedgerEntry(subject?: string): Promise<LedgerEntry | undefined>
  /** The public keys with which seals and entries are verified. */
  sealKeys(): Promise<SealKey[]>
}

export type Ledger = {
  readonly methods: LedgerMethods
  /** Chains the queued drafts, after a short delay. */
  wake(): void
  close(): Promise<void>
}

/** The time that queued drafts wait, so that one entry can stand for several seals of a session. */
const gatherMs = 250
/** The interval at which a process looks for drafts that another process has queued and not chained. */
const lookMs = 500
const draftsAtOnce = 500

type LedgerParts = {
  readonly store: LedgerStore
  readonly sealer: Sealer
  readonly clock: Clock
  /** True if other processes queue drafts in the same store. */
  readonly isShared: boolean
  readonly problem: (problem: { error: unknown; doing: string }) => void
}

/** Chains the drafts that the store has queued: numbers, links and signs them. */
export function createLedger({ store, sealer, clock, isShared, problem }: LedgerParts): Ledger {
  let stopTimer: (() => void) | undefined
  let running: Promise<boolean> | undefined
  let isClosed = false

  function run(): Promise<boolean> {
    running ??= chainAll(store, sealer)
      .catch((error) => {
        problem({ error, doing: 'append to the ledger' })
        return false
      })
      .finally(() => {
        running = undefined
      })
    return running
  }

  function wake(afterMs = gatherMs): void {
    if (isClosed) return
    stopTimer ??= clock.after(
      afterMs,
      () => {
        stopTimer = undefined
        void run().then((isDone) => {
          if (!isDone) wake()
          else if (isShared) wake(lookMs)
        })
      },
      { background: true },
    )
  }

  /** Waits until everything that is queued now is chained, by this process or by another process. */
  async function settle(): Promise<void> {
    for (let tries = 0; tries < 20; tries++) {
      if (await run()) return
      await new Promise<void>((resolve) => clock.after(gatherMs / 5, resolve))
    }
    throw new ParleyError('busy', 'The ledger is being written by another node. Try again.')
  }

  wake()
  return {
    methods: {
      async recordInLedger(draft) {
        await store.queueLedger([{ at: clock.now(), ...draft }])
        wake()
      },
      async ledgerEntries(query) {
        await settle()
        return store.ledger(query)
      },
      async lastLedgerEntry(subject) {
        await settle()
        return store.lastOfLedger(subject)
      },
      sealKeys: () => store.sealKeys(),
    },
    wake: () => wake(),
    async close() {
      isClosed = true
      stopTimer?.()
      await run()
    },
  }
}

/** Chains all queued drafts. Returns false if some are left, because another process chains them. */
async function chainAll(store: LedgerStore, sealer: Sealer): Promise<boolean> {
  for (;;) {
    const queued = await store.queuedLedger(draftsAtOnce)
    if (queued.length === 0) return true
    if (!(await store.holdLedger())) return false
    const last = await store.lastOfLedger()
    const drafts = newest(queued.map(({ draft }) => draft))
    const entries = chained(drafts, { n: last?.n ?? 0, hash: last?.hash ?? '' }, sealer)
    const ids = queued.map(({ id }) => id)
    try {
      await store.chainLedger(entries, ids)
    } catch (error) {
      if (!hasCode(error, 'conflict')) throw error
      return false
    }
  }
}

const refuse = async (): Promise<never> => {
  throw new ParleyError('not_supported', 'This server keeps no ledger.')
}

/** For a host without a ledger. */
export const noLedger: Ledger = {
  methods: {
    recordInLedger: async () => undefined,
    ledgerEntries: refuse,
    lastLedgerEntry: refuse,
    sealKeys: async () => [],
  },
  wake: () => undefined,
  close: async () => undefined,
}

/** Keeps only the last seal of each session, because a seal vouches for all seals before it. */
function newest(drafts: readonly LedgerDraft[]): LedgerDraft[] {
  const isSeal = ({ kind }: LedgerDraft) => kind === 'session.sealed'
  const last = new Map(drafts.filter(isSeal).map((draft) => [draft.subject, draft]))
  return drafts.filter((draft) => !isSeal(draft) || last.get(draft.subject) === draft)
}

function chained(
  drafts: readonly LedgerDraft[],
  last: { readonly n: number; readonly hash: string },
  { keyId, sign }: Sealer,
): LedgerEntry[] {
  let { n, hash } = last
  return drafts.map((draft) => {
    const unsigned = { n: n + 1, ...draft, prev: hash, keyId }
    const text = ledgerText(unsigned)
    n++
    hash = createHash('sha256').update(text).digest('base64url')
    return { ...unsigned, hash, signature: sign(text) }
  })
}
