import { createStore, useStore } from '../base/store.ts'
import { useSessionId } from './session-context.tsx'

type Counted = { readonly sessionId: string; readonly count: number; readonly cut: boolean }

/** The number of changed files of the session that was shown last. */
const counted = createStore<Counted | undefined>(undefined)

export function setChangesCount(next: Counted): void {
  const { sessionId, count, cut } = counted.get() ?? {}
  if (sessionId !== next.sessionId || count !== next.count || cut !== next.cut) counted.set(next)
}

export function useChangesCount(): Counted | undefined {
  const id = useSessionId()
  return useStore(counted, (known) => (known?.sessionId === id ? known : undefined))
}
