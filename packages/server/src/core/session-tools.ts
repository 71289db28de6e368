import { ParleyError } from '@parley/protocol'
import { type HostTool, type HostToolSet, hostToolSet } from './host-tool.ts'

/**
 * The tools of the host, and additional tools that the creator of a session offers to its agent. Tools are functions:
 * they are not stored, and are lost when the host closes.
 */
export type SessionTools = {
  /** The current tools. `replace` changes the set of a session that has tools of its own. */
  get(sessionId: string): HostToolSet
  /** Throws a ParleyError for invalid names. */
  check(tools: readonly HostTool[]): void
  offer(sessionId: string, tools: readonly HostTool[]): void
  /**
   * Replaces the tools of one session. Throws ParleyError `conflict` if the session was created without a list of
   * its own tools (which may be empty), or if the list was dropped.
   */
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
    get: (sessionId) => own.get(sessionId) ?? shared,
    check: (given) => void hostToolSet([...tools, ...given]),
    offer,
    replace(sessionId, given) {
      if (own.has(sessionId)) return offer(sessionId, given)
      const message =
        'The tools of this session are no longer available. Create a new session and pass its tools again.'
      throw new ParleyError('conflict', message)
    },
    forget: (sessionId) => void own.delete(sessionId),
  }
}
