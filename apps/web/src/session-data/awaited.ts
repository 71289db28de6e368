import type { SessionState } from '@parley/protocol'
import { createStore, useStore } from '../base/store.ts'
import { useSessionId } from './session-context.tsx'

/** The texts on the page of a session whose machine is away. They are loaded only for such sessions. */
export type Awaited = {
  readonly sessionId: string
  readonly machine: string
  /** Shown in the empty prompt field. */
  readonly placeholder: string
  /** The tooltip of the button that queues a prompt. */
  readonly queueTitle: string
  /**
   * The text of the last row of the timeline. It contains no elapsed time, because nothing runs while the machine is
   * away. Undefined if the session waits for a person, or has nothing to do.
   */
  readonly lastRow: (state: Pick<SessionState, 'status' | 'requests' | 'queue'>) => string | undefined
}

/** Set by the header of the session, which requests the node of the session. */
export const awaited = createStore<Awaited | undefined>(undefined)

/** Defined if no server runs on the machine of the open session. */
export function useAwaited(): Awaited | undefined {
  const id = useSessionId()
  return useStore(awaited, (now) => (now?.sessionId === id ? now : undefined))
}
