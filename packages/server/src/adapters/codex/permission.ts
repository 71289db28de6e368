import { isDeepStrictEqual } from 'node:util'
import {
  type AgentOutput,
  hostToolServer,
  type PermissionAnswer,
  type PermissionAsk,
  type Person,
} from '@parley/adapter-kit'
import { firstLine } from '@parley/adapter-kit/call-description'
import { type Reach, reachOf } from '@parley/adapter-kit/inside-folder'
import { isRecord } from '@parley/protocol'
import {
  type CallDescription,
  commandTool,
  describeCommand,
  describePatch,
  patchTool,
} from './describe-call.ts'
import type { CallCheck } from './hook-server.ts'
import type {
  NativeCommandApproval,
  NativeElicitation,
  NativeFileApproval,
  NativePermissionsApproval,
} from './native.ts'
import type { NativeHookCall } from './native-hook.ts'
import {
  inSandbox,
  type SandboxPermissions,
  sandboxPermissionsOf,
  unknownSandbox,
} from './sandbox-permissions.ts'
import { readsOutside, withoutShell } from './shell-command.ts'
import { type Call, parentOf, type TranslateState } from './translate-state.ts'
import { diffOf } from './translate-tool-result.ts'

/** A request to the host, and the conversion of its answer for Codex. */
export type Approval = {
  readonly ask: PermissionAsk
  respond(answer: PermissionAnswer): unknown
}

/** The answer in the form that Codex expects. It holds for this call only: the host itself stores wider decisions. */
function decision(answer: PermissionAnswer): { decision: 'accept' | 'decline' | 'cancel' } {
  if (answer.outcome === 'allowed') return { decision: 'accept' }
  const stops = answer.outcome === 'cancelled' || answer.endTurn
  return { decision: stops ? 'cancel' : 'decline' }
}

export function commandApproval(state: TranslateState, params: NativeCommandApproval): Approval {
  return { ask: commandAsk(state, params), respond: decision }
}

function commandAsk(state: TranslateState, params: NativeCommandApproval): PermissionAsk {
  const { threadId, itemId, reason, networkApprovalContext: network } = params
  const about = { toolCallId: itemId, ...parentOf(state, threadId), ...(reason && { reason }) }
  if (network) {
    const { host, protocol } = network
    const title = `Connect to ${host}`
    return { ...about, tool: 'network', kind: 'fetch', title, input: { host, protocol }, readOnly: false }
  }
  const command = withoutShell(params.command ?? '')
  if (params.kind === 'writeStdin') {
    const title = firstLine(`Type into a running command: ${command}`)
    return { ...about, tool: 'write_stdin', kind: 'execute', title, input: { command } }
  }
  const described = describeCommand(command, params.cwd ?? undefined, state.cwd)
  const sandbox = state.sandboxes.get(itemId) ?? unknownSandbox
  const input = { ...described.input, ...beyondSandbox(params, sandbox) }
  const isOutside = readsOutside(command, params.cwd ?? state.cwd, state.cwd)
  return { ...about, ...asked(described), input, ...(isOutside && { outside: true }) }
}

/**
 * The sandbox permissions and the additional permissions of a command, and its machine if that is not the local one.
 * A grant is compared with these values too, so a grant for a sandboxed command does not cover the command outside
 * its sandbox.
 */
function beyondSandbox(
  { additionalPermissions, environmentId, reason }: NativeCommandApproval,
  sandbox: SandboxPermissions,
) {
  return {
    ...(sandbox !== inSandbox && { sandbox_permissions: sandbox }),
    ...(typeof reason === 'string' && { justification: reason }),
    ...(additionalPermissions && { additionalPermissions }),
    ...(environmentId && environmentId !== 'local' && { environmentId }),
  }
}

function asked({ name, kind, title, input }: CallDescription) {
  return { tool: name, kind, title, input }
}

/**
 * The permission request for a change of files. An unknown patch may change any file, so no mode accepts it as an edit
 * inside the folder.
 */
export function fileApproval(state: TranslateState, params: NativeFileApproval): Approval {
  const { threadId, itemId, reason, grantRoot } = params
  const call = state.calls.get(itemId)
  return {
    ask: {
      toolCallId: itemId,
      ...parentOf(state, threadId),
      tool: patchTool,
      kind: call?.kind ?? 'edit',
      title: call?.title ?? 'Change files',
      input: grantRoot ? { ...(call?.input as object), grantRoot } : (call?.input ?? {}),
      ...(reason && { reason }),
      ...(call ? reachOfCall(call, state.cwd) : { outside: true }),
      ...(call?.changes && { diffs: call.changes.map(diffOf) }),
    },
    respond: decision,
  }
}

function reachOfCall({ kind, input }: Pick<Call, 'kind' | 'input'>, cwd: string | undefined): Reach {
  const { paths = [] } = (input ?? {}) as { paths?: readonly string[] }
  return cwd === undefined ? { outside: true } : reachOf(kind, paths, { cwd, settings: {} })
}

/** The request of Codex for permissions beyond its sandbox, for the rest of the turn. */
export function permissionsApproval(state: TranslateState, params: NativePermissionsApproval): Approval {
  const { threadId, itemId, reason, permissions } = params
  const wanted = Object.fromEntries(Object.entries(permissions).filter(([, value]) => value !== null))
  return {
    ask: {
      toolCallId: itemId,
      ...parentOf(state, threadId),
      tool: 'request_permissions',
      kind: 'other',
      title: `Widen the sandbox: ${Object.keys(wanted).join(', ')}`,
      input: wanted,
      ...(reason && { reason }),
    },
    respond: ({ outcome }) => ({ permissions: outcome === 'allowed' ? wanted : {}, scope: 'turn' }),
  }
}

export function isToolApproval({ _meta }: NativeElicitation): boolean {
  return _meta?.codex_approval_kind !== undefined
}

/**
 * The permission request for a call of an MCP server's tool. Codex does not name the call, so the request is assigned
 * to a call with the same arguments that was not asked about before. If several tools match, only the server is named,
 * since a rule for one tool must not apply to another. For a host tool without a matching call nobody is asked here:
 * the host asks when the tool is called.
 */
export function toolApproval(
  state: TranslateState,
  params: NativeElicitation,
  asked: ReadonlySet<string>,
): Approval | undefined {
  const input = params._meta?.tool_params ?? {}
  const found = callOf(state, params, { input, asked })
  if (!found && params.serverName === hostToolServer && state.hostTools.size > 0) return undefined
  const [toolCallId, call] = found ?? []
  return {
    ask: {
      ...(toolCallId !== undefined && { toolCallId }),
      ...parentOf(state, params.threadId),
      tool: call?.name ?? `mcp__${params.serverName}`,
      kind: 'other',
      title: call?.title ?? params.message ?? params.serverName,
      input,
    },
    respond(answer) {
      const { decision: action } = decision(answer)
      return { action, content: action === 'accept' ? {} : null, _meta: null }
    },
  }
}

function callOf(
  state: TranslateState,
  { threadId, serverName }: NativeElicitation,
  { input, asked }: { input: unknown; asked: ReadonlySet<string> },
): [string, Call] | undefined {
  const candidates = [...state.calls].filter(
    ([id, call]) =>
      call.threadId === threadId &&
      call.server === serverName &&
      !asked.has(id) &&
      isDeepStrictEqual(call.input ?? {}, input),
  )
  const names = new Set(candidates.map(([, { name }]) => name))
  return names.size === 1 ? candidates[0] : undefined
}

const patchCommand = /^\s*apply_patch\s+<<\s*(['"]?)(\w+)\1\n([\s\S]*)\n\2\s*$/

/** Describes a call that the hook asks about, from its name and input alone. */
export function hookAsk(state: TranslateState, call: NativeHookCall, cwd: string): PermissionAsk {
  const { tool_name: name, tool_input: input, tool_use_id: toolCallId, agent_id: agent } = call
  const about = { toolCallId, ...parentOf(state, agent ?? state.threadId) }
  const command = isRecord(input) && typeof input.command === 'string' ? input.command : ''
  if (name === patchTool) return { ...about, ...patchAsk(command, cwd) }
  if (name === commandTool) {
    const patch = patchCommand.exec(command)?.[3]
    if (patch !== undefined) return { ...about, ...patchAsk(patch, cwd) }
    return { ...about, ...asked(describeCommand(command, undefined)) }
  }
  const ofHost = state.hostTools.get(name)
  if (ofHost) {
    const { name: tool, kind, title, readOnly } = ofHost
    return { ...about, tool, kind, title, input, readOnly }
  }
  const own = ownTools.find(({ names }) => names.test(name))
  const tool = own?.tool ?? name
  return { ...about, tool, kind: own?.kind ?? 'other', title: tool, input, readOnly: own !== undefined }
}

function patchAsk(patch: string, cwd: string) {
  const described = describePatch(patch, cwd)
  return { ...asked(described), ...reachOfCall(described, cwd) }
}

/** Codex's own tools that change nothing by themselves. The calls of a subagent are checked one by one. */
const ownTools: readonly { names: RegExp; tool: string; kind: 'read' | 'think' }[] = [
  { names: /^view_image$/, tool: 'view_image', kind: 'read' },
  { names: /^(list|read)_mcp_resource/, tool: 'mcp_resource', kind: 'read' },
  { names: /^(multi_agent_v1|collaboration)?spawn_agent$/, tool: 'spawn_agent', kind: 'think' },
  {
    names:
      /^(multi_agent_v1|collaboration)?(send_input|send_message|followup_task|resume_agent|wait_agent|close_agent|interrupt_agent|list_agents)$/,
    tool: 'subagents',
    kind: 'think',
  },
  { names: /^update_plan$/, tool: 'update_plan', kind: 'think' },
  { names: /^request_user_input$/, tool: 'request_user_input', kind: 'think' },
]

/**
 * Enforces the host's refusals for every call before it runs. Codex reports nothing about a call that its hook refuses,
 * so this check reports the call and its end.
 */
export function createCallCheck(context: {
  person: Person
  cwd: string
  state(): TranslateState
  put(output: AgentOutput): Promise<void>
  /** Called with the sandbox permissions that a command requests. */
  sandboxed(toolCallId: string, permissions: SandboxPermissions): void
}): CallCheck {
  const { person, cwd, state, put, sandboxed } = context
  return async (call) => {
    const ask = hookAsk(state(), call, cwd)
    if (!person.forbids(ask)) {
      if (call.tool_name === commandTool) sandboxed(call.tool_use_id, await sandboxPermissionsOf(call))
      return undefined
    }
    const { tool: name, kind, title, input, parentToolCallId } = ask
    const about = { toolCallId: call.tool_use_id, ...(parentToolCallId && { parentToolCallId }) }
    await put({ type: 'tool-call.called', ...about, name, kind, title, input })
    const answer = await person.permit(ask)
    if (answer.outcome === 'allowed') return undefined
    await put({ type: 'tool-call.ended', ...about, outcome: 'denied', content: [] })
    return (answer.outcome === 'denied' && answer.message) || 'Parley denied this call.'
  }
}
