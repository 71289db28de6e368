import { type Command, capabilities, ParleyError, type SessionState } from '@parley/protocol'
import type { AgentAdapter } from './agent-adapter.ts'
import type { DecideContext } from './decide.ts'

/** The agent of a session, which may be one that is no longer known here: then it can be read, not driven. */
export function createSessionAgent(adapter: AgentAdapter | undefined, state: () => SessionState) {
  function need(): AgentAdapter {
    if (adapter) return adapter
    throw new ParleyError(
      'agent_not_found',
      `The agent "${state().agent}" of this session is not known here.`,
    )
  }
  return {
    need,
    /** What only ends something needs no agent, so that nothing hangs when the agent is gone for good. */
    forCommand({ type }: Command): DecideContext['agent'] {
      const ends = type === 'turn.cancel' || type === 'prompt.withdraw' || type === 'session.close'
      return ends && !adapter ? { name: state().agent, capabilities: capabilities(), modes: [] } : need()
    },
    canResume(): boolean {
      return adapter?.capabilities.resume === true && state().connection?.agentSessionId !== undefined
    },
  }
}
