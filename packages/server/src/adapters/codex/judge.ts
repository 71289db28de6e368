import type { AgentOutput, Person } from '../../core/agent-adapter.ts'
import { commandTool } from './describe-call.ts'
import { hookAsk } from './permission.ts'
import type { Judge } from './refusal-desk.ts'
import { type SandboxPermissions, sandboxPermissionsOf } from './sandbox-permissions.ts'
import { placeInTurn } from './translate-outside.ts'
import type { TranslateState } from './translate-state.ts'

/**
 * Enforces the host's refusals for every call before it runs. Codex reports nothing about a call that its hook
 * refuses, so the call and its end are reported from here.
 */
export function createJudge(context: {
  person: Person
  cwd: string
  state(): TranslateState
  put(output: AgentOutput): Promise<void>
  /** Called with what a command requests of its sandbox. */
  sandboxed(toolCallId: string, permissions: SandboxPermissions): void
}): Judge {
  const { person, cwd, state, put, sandboxed } = context
  const tell = async (output: AgentOutput) => {
    for (const placed of placeInTurn(state(), output)) await put(placed)
  }
  return async (call) => {
    const ask = hookAsk(state(), call, cwd)
    if (!person.forbids(ask)) {
      if (call.tool_name === commandTool) sandboxed(call.tool_use_id, await sandboxPermissionsOf(call))
      return undefined
    }
    const { tool: name, kind, title, input, parentToolCallId } = ask
    const about = { toolCallId: call.tool_use_id, ...(parentToolCallId && { parentToolCallId }) }
    await tell({ type: 'tool-call.called', ...about, name, kind, title, input })
    const answer = await person.permit(ask)
    if (answer.outcome === 'allowed') return undefined
    await tell({ type: 'tool-call.ended', ...about, outcome: 'denied', content: [] })
    return (answer.outcome === 'denied' && answer.message) || 'Parley refuses this.'
  }
}
