import type { LiveStore, MirrorSnapshot } from '@parley/client'
import { useSessionView } from '@parley/client/react'
import type { SessionState } from '@parley/protocol'
import { createContext, type ReactNode, useContext } from 'react'
import { sessionSource } from './session-source.ts'

type Here = { readonly id: string; readonly source: LiveStore<MirrorSnapshot> }
const HereContext = createContext<Here | undefined>(undefined)

export function SessionProvider({ id, children }: { id: string; children: ReactNode }) {
  return <HereContext value={{ id, source: sessionSource(id) }}>{children}</HereContext>
}

function useHere(): Here {
  const here = useContext(HereContext)
  if (!here) throw new Error('This belongs inside a SessionProvider.')
  return here
}

export const useSessionId = () => useHere().id

/** A part of the open session. The component renders again only if this part changes. */
export function usePart<Part>(
  selector: (snapshot: MirrorSnapshot) => Part,
  isEqual?: (one: Part, other: Part) => boolean,
): Part {
  return useSessionView(useHere().source, selector, isEqual)
}

export function useStatePart<Part>(
  selector: (state: SessionState) => Part,
  isEqual?: (one: Part, other: Part) => boolean,
): Part {
  return usePart((snapshot) => selector(snapshot.view.state), isEqual)
}
