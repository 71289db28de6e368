import { useSessionId, useStatePart } from './session-context.tsx'
import { useAllSessions, useKeptSessions } from './session-list.ts'

/** The title, agent and folder of the open session. Until it is loaded, those of the session list. */
export function useKnownSession(): { readonly title: string; readonly agent: string; readonly cwd: string } {
  const id = useSessionId()
  const loaded = useStatePart((state) => state.seq > 0)
  const title = useStatePart((state) => state.title)
  const agent = useStatePart((state) => state.agent)
  const cwd = useStatePart((state) => state.cwd)
  const listed = [...useAllSessions().sessions, ...useKeptSessions()].find((session) => session.id === id)
  if (loaded) return { title: title || 'Untitled', agent, cwd }
  return { title: listed?.title || 'Session', agent: listed?.agent ?? '', cwd: listed?.cwd ?? '' }
}
