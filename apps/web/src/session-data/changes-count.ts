import { useEffect } from 'react'
import { client, useConnection } from '../base/client.ts'
import { abortable, usePageVisible } from '../base/effects.ts'
import { createStore, useStore } from '../base/store.ts'
import { useLastEnded } from './last-ended.ts'
import { useSessionId, useSessionState } from './session-context.tsx'
import { queryOf, useComparison } from './shown-changes.ts'

type Counted = { readonly sessionId: string; readonly count: number; readonly cut: boolean }

/** The number of changed files of the session that was looked at last. The open panel writes it. */
const counted = createStore<Counted | undefined>(undefined)

export function setChangesCount(next: Counted): void {
  const { sessionId, count, cut } = counted.get() ?? {}
  if (sessionId !== next.sessionId || count !== next.count || cut !== next.cut) counted.set(next)
}

/** The list is read some time after a session was opened or a step has ended, because each time starts git. */
const calmMs = 1_200

/** The number of changed files. It is read here if the panel, which reads the whole list, is closed. */
export function useChangesCount(panelOpen: boolean): Counted | undefined {
  const id = useSessionId()
  const loaded = useSessionState((state) => state.seq > 0)
  const { scope, turnId } = useComparison()
  const ended = useLastEnded()
  const online = useConnection().state === 'open'
  const visible = usePageVisible()
  const reads = loaded && online && visible && !panelOpen
  // biome-ignore lint/correctness/useExhaustiveDependencies: each step that ended may have changed something
  useEffect(() => {
    if (!reads) return undefined
    return abortable((signal) => {
      const timer = setTimeout(() => {
        const query = queryOf({ scope, ...(turnId !== undefined && { turnId }) })
        client.call('listChanges', { params: { id }, query, signal }).then(
          ({ files, cut }) => setChangesCount({ sessionId: id, count: files.length, cut }),
          () => {},
        )
      }, calmMs)
      signal.addEventListener('abort', () => clearTimeout(timer))
    })
  }, [id, reads, scope, turnId, ended])
  return useStore(counted, (known) => (known?.sessionId === id ? known : undefined))
}
