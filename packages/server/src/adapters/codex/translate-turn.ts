import type { AgentOutput } from '@parley/adapter-kit'
import { noOutput, notice, withoutTurn } from '@parley/adapter-kit/translation'
import type { ErrorInfo, TurnOutcome } from '@parley/protocol'
import type { NativeErrorInfo, NativePlanStep, NativeTurn, NativeTurnError } from './native.ts'
import {
  parentOf,
  type TranslateState,
  type Translation,
  type Turn,
  withNativeTurn,
} from './translate-state.ts'
import { retractOpen, withoutBlocks } from './translate-stream.ts'
import { beginSubagentTurn, endSubagentTurn } from './translate-subagent.ts'
import { leaveRunning, withoutCallsOfTurn } from './translate-tool-call.ts'

type OfTurn = { readonly threadId: string; readonly turn: NativeTurn }

export function beginTurn(state: TranslateState, { threadId, turn }: OfTurn): Translation {
  if (threadId !== state.threadId) return beginSubagentTurn(state, threadId, turn)
  return noOutput(withNativeTurn(state, turn.id))
}

export function completeTurn(state: TranslateState, { threadId, turn }: OfTurn): Translation {
  if (threadId !== state.threadId) return endSubagentTurn(state, threadId, turn)
  const own = state.turn
  if (!own || (own.nativeId !== undefined && own.nativeId !== turn.id)) {
    return { state, outputs: turn.error ? [failureNotice(turn.error)] : [] }
  }
  const left = turn.status === 'completed' ? leaveRunning(state) : noOutput(withoutCallsOfTurn(state))
  return {
    state: withoutBlocks(withoutTurn(left.state), state.threadId),
    outputs: [...left.outputs, endOf(own, turn, state)],
  }
}

function endOf(own: Turn, turn: NativeTurn, { options }: TranslateState): AgentOutput {
  const outcome = outcomes[turn.status]
  const { answer, usage } = own
  const result = outcome === 'completed' && answer !== undefined
  return {
    type: 'turn.ended',
    outcome,
    stopReason: stopReasons[turn.status],
    ...(outcome === 'failed' && { error: errorOf(turn.error) }),
    ...(usage && { usage }),
    ...(result && { result: answer }),
    ...(result && options.outputSchema && structuredOutput(answer)),
  }
}

const outcomes: Readonly<Record<NativeTurn['status'], TurnOutcome>> = {
  inProgress: 'unknown',
  completed: 'completed',
  interrupted: 'cancelled',
  failed: 'failed',
}

const stopReasons: Readonly<Record<NativeTurn['status'], string>> = {
  inProgress: 'unknown',
  completed: 'end_turn',
  interrupted: 'cancelled',
  failed: 'error',
}

function structuredOutput(answer: string): { structuredOutput?: unknown } {
  try {
    return { structuredOutput: JSON.parse(answer) }
  } catch {
    return {}
  }
}

/**
 * Reports a failed call of the model. The last error of the main agent is not reported here, because it comes
 * again with the end of the turn.
 */
export function takeError(
  state: TranslateState,
  { threadId, error, willRetry }: { threadId: string; error: NativeTurnError; willRetry: boolean },
): Translation {
  if (!willRetry) {
    return threadId === state.threadId
      ? noOutput(state)
      : { state, outputs: [{ ...failureNotice(error), ...parentOf(state, threadId) }] }
  }
  const retracted = retractOpen(state, threadId)
  const { code, details } = errorOf(error)
  const why = error.additionalDetails ? ` ${error.additionalDetails}` : ''
  const name = code === 'rate_limited' ? 'rate-limited' : 'api-retry'
  const more = { ...(details && { data: details }), ...parentOf(state, threadId) }
  return {
    state: retracted.state,
    outputs: [...retracted.outputs, notice('warning', name, `${error.message}${why}`, more)],
  }
}

function failureNotice(error: NativeTurnError): AgentOutput {
  const { message, details } = errorOf(error)
  return notice('error', 'background-failed', message, { data: details })
}

export function errorOf(error: NativeTurnError | null | undefined): ErrorInfo {
  if (!error) return { code: 'agent_failed', message: 'Codex failed and did not report why.' }
  const { name, status } = infoOf(error.codexErrorInfo)
  return {
    code: codeOf(name, status),
    message: plainMessage(error.message),
    details: {
      ...(name !== undefined && { reason: name }),
      ...(status !== undefined && { status }),
      ...(error.additionalDetails && { more: error.additionalDetails }),
    },
  }
}

function infoOf(info: NativeErrorInfo | null | undefined): { name?: string; status?: number } {
  if (info == null) return {}
  if (typeof info === 'string') return { name: info }
  const [[name, more] = []] = Object.entries(info)
  return { ...(name && { name }), ...(more?.httpStatusCode != null && { status: more.httpStatusCode }) }
}

const codes: Readonly<Record<string, ErrorInfo['code']>> = {
  usageLimitExceeded: 'rate_limited',
  rateLimitExceeded: 'rate_limited',
  sessionBudgetExceeded: 'rate_limited',
  unauthorized: 'agent_not_signed_in',
  contextWindowExceeded: 'too_large',
  serverOverloaded: 'busy',
  flexUnavailable: 'busy',
}

function codeOf(name: string | undefined, status: number | undefined): ErrorInfo['code'] {
  if (status === 401 || status === 403) return 'agent_not_signed_in'
  if (status === 429) return 'rate_limited'
  if (status === 413) return 'too_large'
  if (status === 503 || status === 529) return 'busy'
  return codes[name ?? ''] ?? 'agent_failed'
}

/** The message inside an error that the model service sent as JSON. */
function plainMessage(message: string): string {
  try {
    const { error } = JSON.parse(message) as { error?: { message?: unknown } }
    return typeof error?.message === 'string' ? error.message : message
  } catch {
    return message
  }
}

const planStatus = { pending: 'pending', inProgress: 'in-progress', completed: 'completed' } as const

export function updatePlan(
  state: TranslateState,
  { threadId, plan }: { threadId: string; plan: readonly NativePlanStep[] },
): Translation {
  const entries = plan.map(({ step, status }) => ({ text: step, status: planStatus[status] ?? 'pending' }))
  return { state, outputs: [{ type: 'plan.updated', entries, ...parentOf(state, threadId) }] }
}
