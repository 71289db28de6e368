import { ParleyError } from '@parley/protocol'
import { type HostTool, type HostToolSet, hostToolSet } from './host-tool.ts'

/**
 * The host's tools, and what whoever made a session offers to its agent beside them. They are functions, so nothing of
 * them is stored: they are gone with this host.
 */
export type SessionTools = {
  /** As they are now; the set of a session with tools of its own changes with them. */
  of(sessionId: string): HostToolSet
  /** Throws a ParleyError for names that cannot be. */
  check(tools: readonly HostTool[]): void
  /** To a session that was just made. */
  offer(sessionId: string, tools: readonly HostTool[]): void
  /** The same in place of those before, if it was made with some, or none, of its own. */
  replace(sessionId: string, tools: readonly HostTool[]): void
  forget(sessionId: string): void
}

export function createSessionTools(tools: readonly HostTool[] = []): SessionTools {
  const shared = hostToolSet(tools)
  const own = new Map<string, Map<string, HostTool>>()

  function offer(sessionId: string, given: readonly HostTool[]): void {
    const all = hostToolSet([...tools, ...given])
    const set = own.get(sessionId) ?? new Map<string, HostTool>()
    set.clear()
    for (const [name, tool] of all) set.set(name, tool)
    own.set(sessionId, set)
  }

  return {
    of: (sessionId) => own.get(sessionId) ?? shared,
    check: (given) => void hostToolSet([...tools, ...given]),
    offer,
    replace(sessionId, given) {
      if (own.has(sessionId)) return offer(sessionId, given)
      const message = 'This session has no tools of its own, or no longer. Make a new one with them.'
      throw new ParleyError('conflict', message)
    },
    forget: (sessionId) => void own.delete(sessionId),
  }
}
