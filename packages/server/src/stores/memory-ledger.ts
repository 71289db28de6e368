import type { LedgerEntry } from '@parley/protocol'
import type { LedgerDraft, LedgerStore, QueuedDraft, SealKey } from '../core/ledger-store.ts'
import { ledgerMoved } from './ledger-rows.ts'

export function createMemoryLedger(): {
  store: LedgerStore
  queue: (drafts: readonly LedgerDraft[]) => void
} {
  const entries: LedgerEntry[] = []
  const keys: SealKey[] = []
  let queued: QueuedDraft[] = []
  let lastId = 0
  const queue = (drafts: readonly LedgerDraft[]) => {
    for (const draft of drafts) queued.push({ id: ++lastId, draft: structuredClone(draft) })
  }
  const about = (subject: string | undefined) =>
    subject === undefined ? entries : entries.filter((entry) => entry.subject === subject)
  const store: LedgerStore = {
    queueLedger: async (drafts) => queue(drafts),
    queuedLedger: async (limit) => structuredClone(queued.slice(0, limit)),
    holdLedger: async () => true,
    async chainLedger(added, drafts) {
      if (added[0]?.n !== entries.length + 1) throw ledgerMoved()
      entries.push(...structuredClone(added))
      queued = queued.filter(({ id }) => !drafts.includes(id))
    },
    ledger: async ({ after = 0, subject, limit }) =>
      structuredClone(about(subject).filter(({ n }) => n > after)).slice(0, limit),
    lastOfLedger: async (subject) => structuredClone(about(subject).at(-1)),
    sealKeys: async () => structuredClone(keys),
    async addSealKey(key) {
      if (keys.some(({ keyId }) => keyId === key.keyId)) return false
      keys.push({ ...key })
      return true
    },
  }
  return { store, queue }
}
