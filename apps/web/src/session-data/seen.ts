import { createPersistedStore } from '../base/persisted-store.ts'
import { useStore } from '../base/store.ts'
import { type Seen, withSeen } from './seen.logic.ts'

const seen = createPersistedStore<Seen>('seen', { since: Date.now(), at: {} })
if (Object.keys(seen.get().at).length === 0) seen.set((before) => ({ ...before }))

export const useSeen = () => useStore(seen)

export function markSeen(sessionId: string, updatedAt: number): void {
  seen.set((before) => withSeen(before, sessionId, updatedAt))
}
