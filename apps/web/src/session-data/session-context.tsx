import type { LiveStore, MirrorSnapshot } from '@parley/client'
import { useSessionView } from '@parley/client/react'
import type { SessionState } from '@parley/protocol'
import { createContext, type ReactNode, useContext } from 'react'
import { sessionSource } from './session-source.ts'

type OpenSession = { readonly id: string; readonly source: LiveStore<MirrorSnapshot> }
const OpenSessionContext = createContext<OpenSession | undefined>(undefined)

export function SessionProvider({ id, children }: { id: string; children: ReactNode }) {
  return <OpenSessionContext value={{ id, source: sessionSource(id) }}>{children}</OpenSessionContext>
}

function useOpenSession(): OpenSession {
  const open = useContext(OpenSessionContext)
  if (!open) throw new Error('Hooks of the open session can be used only inside a SessionProvider.')
  return open
}

export const useSessionId = () => useOpenSession().id

/** Returns a part of the open session. The component renders again only if this part changes. */
export function useSnapshot<Selected>(
  selector: (snapshot: MirrorSnapshot) => Selected,
  isEqual?: (one: Selected, other: Selected) => boolean,
): Selected {
  return useSessionView(useOpenSession().source, selector, isEqual)
}

export function useSessionState<Selected>(
  selector: (state: SessionState) => Selected,
  isEqual?: (one: Selected, other: Selected) => boolean,
): Selected {
  return useSnapshot((snapshot) => selector(snapshot.view.state), isEqual)
}
