import type { AgentOutput } from '@parley/adapter-kit'
import { notice, withoutTurn } from '@parley/adapter-kit/translation'
import type { ErrorInfo, TurnOutcome } from '@parley/protocol'
import type { NativeResult } from './native.ts'
import { takeSessionId } from './translate-session.ts'
import type { TranslateState, Translation } from './translate-state.ts'
import { costOfTurn, effortOfTurn, measureResult, usageOf } from './translate-usage.ts'

/**
 * Translates a result, which ends the turn, with two exceptions. After a deferred call the turn is parked:
 * the process ends and the host keeps the turn open. A result of the agent's own work does not end a turn
 * that waits to start.
 */
export function translateResult(state: TranslateState, result: NativeResult): Translation {
  const measured = withSessionId(measureResult(state, result), result)
  if (!state.turn) return endOfSilentWork(state, measured, result)
  if (isForeign(state, result)) return { state: withoutStreams(measured.state), outputs: measured.outputs }
  const done = withoutStreams(withoutTurn(measured.state))
  if (result.terminal_reason === 'tool_deferred') return { state: done, outputs: measured.outputs }
  return { state: done, outputs: [...measured.outputs, ...emptyAnswerNotice(result), endOf(state, result)] }
}

function withSessionId({ state, outputs }: Translation, { session_id }: NativeResult): Translation {
  const named = takeSessionId(state, session_id)
  return { state: named.state, outputs: [...named.outputs, ...outputs] }
}

/** Called when the agent worked by itself and wrote nothing: only a failure starts a turn of the agent's own. */
function endOfSilentWork(state: TranslateState, measured: Translation, result: NativeResult): Translation {
  const failed = outcomeOf(result) === 'failed' && result.terminal_reason !== 'tool_deferred'
  const own: AgentOutput[] = failed ? [beginningOf(state), endOf(state, result)] : []
  return { state: withoutStreams(measured.state), outputs: [...measured.outputs, ...own] }
}

/** The output that starts a turn of the agent's own, with the cause of the turn. */
export function beginningOf({ reported }: TranslateState): AgentOutput {
  const task = reported && { taskId: reported.taskId, title: reported.title }
  return { type: 'turn.started', cause: { by: 'agent', ...task } }
}

function isForeign({ turn }: TranslateState, { origin, user_message_uuids }: NativeResult): boolean {
  if (!turn || turn.prompts.length === 0) return false
  if (user_message_uuids) return !user_message_uuids.some((uuid) => turn.prompts.includes(uuid))
  return !turn.begun && origin !== undefined && origin.kind !== 'human'
}

/**
 * A warning if the model was called but returned nothing. A result without model calls, e.g. that of a slash command,
 * gives no warning.
 */
function emptyAnswerNotice(result: NativeResult): AgentOutput[] {
  const empty =
    outcomeOf(result) === 'completed' &&
    result.subtype === 'success' &&
    result.num_turns > 0 &&
    !result.result &&
    result.structured_output === undefined
  if (!empty) return []
  const text = 'The model ended the turn without an answer. Send the prompt again, or rephrase it.'
  return [notice('warning', 'empty-answer', text)]
}

function endOf(state: TranslateState, result: NativeResult): AgentOutput {
  const outcome = outcomeOf(result)
  const costUsd = costOfTurn(state, result)
  const success = result.subtype === 'success' ? result : undefined
  return {
    type: 'turn.ended',
    outcome,
    stopReason: stopReasonOf(outcome, result),
    ...(outcome === 'failed' && { error: errorOf(result) }),
    ...usageOf(result),
    ...(costUsd !== undefined && { costUsd }),
    ...effortOfTurn(state, result),
    ...(outcome === 'completed' && success?.result && { result: success.result }),
    ...(success?.structured_output !== undefined && { structuredOutput: success.structured_output }),
  }
}

function outcomeOf({ terminal_reason, is_error, subtype }: NativeResult): TurnOutcome {
  if (terminal_reason?.startsWith('aborted_')) return 'cancelled'
  return is_error || subtype !== 'success' ? 'failed' : 'completed'
}

function stopReasonOf(outcome: TurnOutcome, result: NativeResult): string {
  const { terminal_reason, stop_reason, subtype } = result
  if (outcome === 'cancelled') return 'cancelled'
  if (outcome === 'completed') return stop_reason ?? terminal_reason ?? 'end_turn'
  return (
    terminal_reason ?? (subtype === 'success' ? 'error' : String(subtype ?? 'error').replace(/^error_/, ''))
  )
}

const reasons: Readonly<Record<string, string>> = {
  error_max_turns: 'The agent reached its limit of steps for one turn.',
  error_max_budget_usd: 'The budget (`maxBudgetUsd`) is used up.',
  error_max_structured_output_retries: 'The model did not return a result that matches the requested schema.',
  error_during_execution: 'Claude Code failed during the turn.',
  tool_deferred_unavailable:
    'The call that waited for an answer can no longer run: its tool is not available. Send the prompt again.',
}

function errorOf(result: NativeResult): ErrorInfo {
  const { terminal_reason, subtype } = result
  const details = { subtype, ...(terminal_reason && { terminalReason: terminal_reason }) }
  if (result.subtype === 'success') {
    const status = result.api_error_status ?? undefined
    const words = result.result || reasons[terminal_reason ?? ''] || 'The model could not be reached.'
    return {
      code: codeOf(status, terminal_reason),
      message: [words, advice[status ?? terminal_reason ?? ''] ?? ''].join(' ').trim(),
      details: { ...details, ...(status !== undefined && { status }) },
    }
  }
  const errors = result.errors ?? []
  const { startup_failure_reason: startup } = result
  return {
    code: 'agent_failed',
    message:
      (subtype === 'error_during_execution' && errors[0]) ||
      reasons[subtype] ||
      errors[0] ||
      reasons.error_during_execution ||
      subtype,
    details: { ...details, ...(errors.length > 0 && { errors }), ...(startup && { startup }) },
  }
}

/**
 * Advice for errors for which the agent gives none, by the status of the model's response or by the terminal reason.
 */
const advice: Readonly<Record<string, string>> = {
  401: 'Check ANTHROPIC_API_KEY, or sign in again with the program itself: claude auth login ("parley agents" shows its path)',
  403: 'Check ANTHROPIC_API_KEY, or sign in again with the program itself: claude auth login ("parley agents" shows its path)',
  404: 'Choose another model.',
  429: 'Send the prompt again later.',
  api_error: 'Send the prompt again.',
}

function codeOf(status: number | undefined, reason: NativeResult['terminal_reason']): ErrorInfo['code'] {
  if (status === 401 || status === 403) return 'agent_not_signed_in'
  if (status === 429) return 'rate_limited'
  if (status === 413 || reason === 'prompt_too_long') return 'too_large'
  return status === 529 ? 'busy' : 'agent_failed'
}

function withoutStreams(state: TranslateState): TranslateState {
  return { ...state, streams: {} }
}
