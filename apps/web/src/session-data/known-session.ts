import { useSessionId, useSessionState } from './session-context.tsx'
import { useAllSessions, useCachedSessions } from './session-list.ts'

/** The title, agent and folder of the open session. Until it is loaded, those of the session list. */
export function useKnownSession(): { readonly title: string; readonly agent: string; readonly cwd: string } {
  const id = useSessionId()
  const loaded = useSessionState((state) => state.seq > 0)
  const title = useSessionState((state) => state.title)
  const agent = useSessionState((state) => state.agent)
  const cwd = useSessionState((state) => state.cwd)
  const listed = [...useAllSessions().sessions, ...useCachedSessions()].find((session) => session.id === id)
  if (loaded) return { title: title || 'Untitled', agent, cwd }
  return { title: listed?.title || 'Session', agent: listed?.agent ?? '', cwd: listed?.cwd ?? '' }
}
