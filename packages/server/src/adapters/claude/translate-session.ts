import type { AgentOutput } from '@parley/adapter-kit'
import { noOutput, notice, working } from '@parley/adapter-kit/translation'
import type { PermissionMode, SessionSettings } from '@parley/protocol'
import type { NativeCommandLifecycle, NativeMessage } from './native.ts'
import { type TranslateState, type Translation, withTurn } from './translate-state.ts'
import { withBegunTurn } from './translate-usage.ts'

type NativeInit = NativeMessage<'system/init'>

/** Reports the connection and its settings if they have changed: `init` is sent with every turn. */
export function takeInit(state: TranslateState, init: NativeInit): Translation {
  const known = new Map(state.commands.map((command) => [command.name, command]))
  const connected = {
    type: 'agent.connected' as const,
    agentSessionId: init.session_id,
    model: init.model,
    cwd: init.cwd,
    agentVersion: init.claude_code_version,
    tools: toolsIn(state, init),
    mcpServers: init.mcp_servers.map(({ name, status }) => ({ name, status })),
    commands: init.slash_commands.map((name) => known.get(name) ?? { name }),
  }
  const said = JSON.stringify(connected)
  const taken = { ...state, cwd: init.cwd, reportedConnection: said, reportedSessionId: init.session_id }
  const next = inForce(taken, init.permissionMode, init.model)
  return {
    state: next.state,
    outputs: [...(said === state.reportedConnection ? [] : [connected]), ...next.outputs],
  }
}

/**
 * Reads the id of the conversation from a result, because some versions continue under another id without an `init`. A
 * result before any `init` is ignored: it comes from a failed start, and its id belongs to no conversation.
 */
export function takeSessionId(state: TranslateState, sessionId: string | undefined): Translation {
  const { reportedSessionId } = state
  if (!sessionId || reportedSessionId === undefined || sessionId === reportedSessionId) return noOutput(state)
  return {
    state: { ...state, reportedSessionId: sessionId, reportedConnection: '' },
    outputs: [{ type: 'agent.connected', agentSessionId: sessionId }],
  }
}

/**
 * The names of the tools, without `StructuredOutput`. `StructuredOutput` is not a real tool, but the way in which
 * Claude returns structured output.
 */
function toolsIn({ hostTools }: TranslateState, { tools }: NativeInit): string[] {
  return tools.filter((name) => name !== 'StructuredOutput').map((name) => hostTools.get(name)?.name ?? name)
}

export function takeStatus(state: TranslateState, message: NativeMessage<'system/status'>): Translation {
  const { status, permissionMode, compact_result, compact_error } = message
  const next = permissionMode ? inForce(state, permissionMode) : noOutput(state)
  return {
    state: next.state,
    outputs: [
      ...next.outputs,
      ...(status === 'compacting' ? [working('Compacting the conversation')] : []),
      ...(compact_result ? [working()] : []),
      ...(compact_result === 'failed'
        ? [notice('error', 'compaction-failed', compact_error ?? 'The conversation could not be compacted.')]
        : []),
    ],
  }
}

export function changeCommands(
  state: TranslateState,
  { commands }: NativeMessage<'system/commands_changed'>,
): Translation {
  const listed = commands.map(({ name, description, argumentHint }) => ({
    name,
    ...(description && { description }),
    ...(argumentHint && { hint: argumentHint }),
  }))
  return { state: { ...state, commands: listed }, outputs: [{ type: 'agent.connected', commands: listed }] }
}

/**
 * Called when the agent has cleared the conversation. It continues under another id, which the next `init`
 * reports and which is not `new_conversation_id`.
 */
export function beginConversationAnew(
  state: TranslateState,
  { trigger }: NativeMessage<'conversation_reset'>,
): Translation {
  const text = 'The agent started a new conversation; it does not remember the messages above.'
  return {
    state: { ...state, plans: {}, usage: { ...state.usage, context: 0 } },
    outputs: [notice('warning', 'conversation-reset', text, trigger ? { data: { trigger } } : {})],
  }
}

/**
 * Handles the report that the agent has started or dropped a prompt. No result follows a dropped prompt, so a turn
 * that has not begun and has no other prompt ends here.
 */
export function followCommand(state: TranslateState, message: NativeCommandLifecycle): Translation {
  const { command_uuid, state: now } = message
  if (now === 'started') return takeUp(state, command_uuid)
  if (now === 'cancelled' && state.pending.has(command_uuid)) {
    return { state: withoutPending(state, command_uuid), outputs: [] }
  }
  const { turn } = state
  if (now !== 'cancelled' || !turn?.prompts.includes(command_uuid)) return noOutput(state)
  const prompts = turn.prompts.filter((uuid) => uuid !== command_uuid)
  if (turn.begun || prompts.length > 0)
    return { state: { ...state, turn: { ...turn, prompts } }, outputs: [] }
  return {
    state: { ...state, turn: undefined },
    outputs: [{ type: 'turn.ended', outcome: 'cancelled', stopReason: 'cancelled' }],
  }
}

/**
 * Called when the agent starts a prompt. A steered prompt joins the running turn; if that turn is over, the
 * prompt begins the next one.
 */
function takeUp(state: TranslateState, uuid: string): Translation {
  const promptId = state.pending.get(uuid)
  if (promptId === undefined) return { state: withBegunTurn(state, [uuid]), outputs: [] }
  const { turn } = state
  const next = turn
    ? { ...state, turn: { ...turn, begun: true, prompts: [...new Set([...turn.prompts, uuid])] } }
    : withTurn(state, uuid)
  const begun = withBegunTurn(withoutPending(next, uuid), [uuid])
  return { state: begun, outputs: [{ type: 'prompt.taken', promptId }] }
}

function withoutPending(state: TranslateState, uuid: string): TranslateState {
  const pending = new Map(state.pending)
  pending.delete(uuid)
  return { ...state, pending }
}

/**
 * Handlers for a compaction. The boundary comes first; its summary, if any, follows in the next message. Both are
 * reported together.
 */
export const compact = {
  hold(state: TranslateState, message: NativeMessage<'system/compact_boundary'>): Translation {
    const { trigger, pre_tokens, post_tokens } = message.compact_metadata
    const compaction = {
      trigger,
      ...(pre_tokens !== undefined && { before: pre_tokens }),
      ...(post_tokens !== undefined && { after: post_tokens }),
    }
    const context = post_tokens ?? state.usage.context
    return { state: { ...state, compaction, usage: { ...state.usage, context } }, outputs: [] }
  },
  flush(state: TranslateState, summary?: string): Translation {
    const { compaction } = state
    if (!compaction) return noOutput(state)
    return {
      state: { ...state, compaction: undefined },
      outputs: [{ type: 'context.compacted', ...compaction, ...(summary && { summary }) }],
    }
  },
}

const modes: Readonly<Record<string, PermissionMode>> = {
  default: 'ask',
  acceptEdits: 'accept-edits',
  plan: 'plan',
  bypassPermissions: 'bypass',
}

function inForce(state: TranslateState, nativeMode: string, model = state.reportedModel): Translation {
  const wanted = state.requestedMode === 'read-only' && nativeMode === 'default'
  const mode = wanted ? 'read-only' : modes[nativeMode]
  const said = mode ?? nativeMode
  const effective: SessionSettings = {
    ...(model !== undefined && model !== state.reportedModel && { model }),
    ...(mode && mode !== state.reportedMode && { mode }),
  }
  const outputs: AgentOutput[] =
    Object.keys(effective).length > 0 ? [{ type: 'session.configured', effective }] : []
  if (!mode && said !== state.reportedMode) {
    const text = `The agent uses its own permission mode ${nativeMode}.`
    outputs.push(notice('warning', 'unknown-mode', text, { data: { mode: nativeMode } }))
  }
  return { state: { ...state, reportedMode: said, reportedModel: model }, outputs }
}
