import type { Session, Todo } from '@opencode-ai/sdk/v2/client'
import type { AgentOutput } from '@parley/adapter-kit'
import { noOutput, notice, withCall } from '@parley/adapter-kit/translation'
import type { NativeProperties } from './native.ts'
import {
  callIdOf,
  callKey,
  parentOf,
  type TranslateState,
  type Translation,
  withDenied,
} from './translate-state.ts'

/**
 * Records the session of a new subagent. Until a call names the session, the latest call without a session is assumed
 * to have started it.
 */
export function addSubagentSession(state: TranslateState, { info }: { readonly info: Session }): Translation {
  const { id, parentID } = info
  if (parentID === undefined || id in state.sessions || !(parentID in state.sessions)) return noOutput(state)
  const taken = new Set(Object.values(state.sessions))
  const open = [...state.calls].findLast(
    ([callId, { tool, sessionID }]) =>
      tool === 'task' && sessionID === parentID && !state.done.has(callId) && !taken.has(callId),
  )
  return noOutput({ ...state, sessions: { ...state.sessions, [id]: open?.[0] } })
}

/** Reports a new title of the session. Other changes are ignored. */
export function reportTitle(state: TranslateState, { info }: { readonly info: Session }): Translation {
  if (info.id !== state.root || info.title === state.title) return noOutput(state)
  const first = state.title === undefined
  const renamed: AgentOutput = { type: 'session.renamed', title: info.title, by: 'agent' }
  return { state: { ...state, title: info.title }, outputs: first ? [] : [renamed] }
}

const statuses = {
  pending: 'pending',
  in_progress: 'in-progress',
  completed: 'completed',
  cancelled: 'cancelled',
} as const
const priorities = ['high', 'medium', 'low'] as const

export function updatePlan(
  state: TranslateState,
  { sessionID, todos }: { readonly sessionID: string; readonly todos: readonly Todo[] },
): Translation {
  const entries = todos.map(({ content, status, priority }) => {
    const known = priorities.find((one) => one === priority)
    return {
      text: content,
      status: statuses[status as keyof typeof statuses] ?? 'pending',
      ...(known && { priority: known }),
    }
  })
  const plan = JSON.stringify(entries)
  if (plan === (state.plans[sessionID] ?? '[]')) return noOutput(state)
  return {
    state: { ...state, plans: { ...state.plans, [sessionID]: plan } },
    outputs: [{ type: 'plan.updated', entries, ...parentOf(state, sessionID) }],
  }
}

/** Reports a compaction once. If no start is recorded, the compaction was already reported. */
export function endCompaction(
  state: TranslateState,
  { sessionID }: { readonly sessionID: string },
): Translation {
  const { compaction } = state
  if (sessionID !== state.root || !compaction) return noOutput(state)
  const { trigger, before, summary } = compaction
  const output: AgentOutput = {
    type: 'context.compacted',
    trigger,
    ...(before > 0 && { before }),
    ...(summary !== '' && { summary }),
  }
  return { state: { ...state, compaction: undefined }, outputs: [output] }
}

/**
 * Records the call of a permission request, with the change that the call would make. The connection asks the person.
 */
export function rememberRequest(
  state: TranslateState,
  { id, tool, metadata }: NativeProperties<'permission.asked'>,
): Translation {
  const callId = tool && callIdOf(state, callKey(tool))
  const call = callId === undefined ? undefined : state.calls.get(callId)
  if (callId === undefined || !call) return noOutput(state)
  const patch = typeof metadata.diff === 'string' ? metadata.diff : call.patch
  const requests = new Map(state.requests).set(id, callId)
  return noOutput({ ...withCall(state, callId, { ...call, patch }), requests })
}

/**
 * Marks the call of a refused request as denied, including a request that OpenCode refused by itself because another
 * call of the step was refused.
 */
export function takeReply(
  state: TranslateState,
  { requestID, reply }: NativeProperties<'permission.replied'>,
): Translation {
  const callId = state.requests.get(requestID)
  return noOutput(reply === 'reject' && callId !== undefined ? withDenied(state, callId) : state)
}

/** The handler of events that only the connection handles. */
export const ignoredHere = (state: TranslateState): Translation => noOutput(state)

function noticeOf<Properties>(describe: (properties: Properties) => Parameters<typeof notice>) {
  return (state: TranslateState, properties: Properties): Translation => ({
    state,
    outputs: [notice(...describe(properties))],
  })
}

const closedBecause = 'because its settings changed: running work was stopped.'

/** Messages that are not part of the conversation. */
export const notices = {
  'tui.toast.show': noticeOf(({ title, message, variant }: NativeProperties<'tui.toast.show'>) => {
    const level = variant === 'error' || variant === 'warning' ? variant : 'info'
    return [level, 'toast', title === undefined ? message : `${title}: ${message}`]
  }),
  'mcp.browser.open.failed': noticeOf(({ mcpName, url }: NativeProperties<'mcp.browser.open.failed'>) => {
    const text = `The MCP server ${mcpName} requires sign-in: open ${url}`
    return ['warning', 'mcp-sign-in', text, { data: { server: mcpName, url } }]
  }),
  'workspace.failed': noticeOf(({ message }: NativeProperties<'workspace.failed'>) => [
    'warning',
    'workspace-failed',
    message,
  ]),
  'worktree.failed': noticeOf(({ message }: NativeProperties<'worktree.failed'>) => [
    'warning',
    'worktree-failed',
    message,
  ]),
  'server.instance.disposed': noticeOf(() => [
    'warning',
    'disposed',
    `OpenCode closed this folder ${closedBecause}`,
  ]),
  'global.disposed': noticeOf(() => ['warning', 'disposed', `OpenCode closed all folders ${closedBecause}`]),
}

export function noticeDeletion(state: TranslateState, { info }: { readonly info: Session }): Translation {
  if (info.id !== state.root) return noOutput(state)
  const text = 'The conversation was deleted in OpenCode. Start a new session.'
  return { state, outputs: [notice('error', 'session-deleted', text)] }
}
