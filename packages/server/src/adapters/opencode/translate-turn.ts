import type { AgentOutput } from '@parley/adapter-kit'
import { noOutput, notice, withoutTurn } from '@parley/adapter-kit/translation'
import type { ErrorInfo, TurnOutcome } from '@parley/protocol'
import type { NativeError, NativeProperties } from './native.ts'
import { parentOf, type TranslateState, type Translation, type Turn, withinTurn } from './translate-state.ts'

export function followStatus(
  state: TranslateState,
  { sessionID, status }: NativeProperties<'session.status'>,
): Translation {
  switch (status.type) {
    case 'busy':
      return noOutput(sessionID === state.root ? withinTurn(state, () => ({ begun: true })) : state)
    case 'retry':
      return tryAgain(state, sessionID, status)
    case 'idle':
      return becomeIdle(state, { sessionID })
    default:
      throw new Error(`a status ${(status as { type?: string }).type}`)
  }
}

/**
 * Reports each retry once: its event may be repeated after a gap. The output of the failed attempt is retracted when
 * the next attempt starts.
 */
function tryAgain(
  state: TranslateState,
  sessionID: string,
  {
    attempt,
    message,
    next,
    action,
  }: Extract<NativeProperties<'session.status'>['status'], { type: 'retry' }>,
): Translation {
  if (state.reportedRetry === next) return noOutput(state)
  const text = `The model could not answer: ${message} Trying again (attempt ${attempt}).`
  const more = { data: { attempt, next, ...(action && { action }) }, ...parentOf(state, sessionID) }
  return { state: { ...state, reportedRetry: next }, outputs: [notice('warning', 'api-retry', text, more)] }
}

/**
 * Ends the turn if OpenCode has finished. OpenCode reports idle when it has finished. After an error or an abort it
 * also reports idle earlier, while its last message is still open; it accepts another prompt only when that message is
 * complete.
 */
export function becomeIdle(
  state: TranslateState,
  { sessionID }: { readonly sessionID: string },
): Translation {
  const { turn } = state
  if (sessionID !== state.root || !turn?.begun || turn.sent.length > 0) return noOutput(state)
  if (turn.answer && !turn.answer.completed) return noOutput(state)
  const [orphan] = turn.unseen
  if (orphan !== undefined && !turn.error && !state.interrupting) {
    return noOutput(withinTurn(state, () => ({ begun: false, orphan })))
  }
  return endTurn(state, turn)
}

export function takeError(
  state: TranslateState,
  { sessionID, error }: NativeProperties<'session.error'>,
): Translation {
  if (!error || isAbort(error)) return noOutput(state)
  const isRoot = sessionID === state.root
  if (isRoot && state.turn && error.name !== 'ContextOverflowError') {
    return noOutput(withinTurn(state, (turn) => ({ error: turn.error ?? error })))
  }
  if (isRoot && state.reportedError) return noOutput(state)
  const level = isRoot && !state.turn ? 'error' : 'warning'
  const parent = sessionID === undefined ? {} : parentOf(state, sessionID)
  const more = { data: { name: error.name }, ...parent }
  return { state, outputs: [notice(level, 'agent-error', messageOf(error), more)] }
}

/** Called when the prompt failed before it was started. */
export function failToBegin(state: TranslateState): Translation {
  const { turn } = state
  return turn && !turn.begun && turn.error ? endTurn(state, turn) : noOutput(state)
}

function endTurn(state: TranslateState, turn: Turn): Translation {
  const outcome = outcomeOf(state, turn)
  const { answer, error, usage, costUsd, text } = turn
  const ended: AgentOutput = {
    type: 'turn.ended',
    outcome,
    stopReason: outcome === 'cancelled' ? 'cancelled' : (error?.name ?? answer?.finish ?? 'end_turn'),
    ...(outcome === 'failed' && { error: errorOf(error) }),
    usage,
    costUsd,
    ...(outcome === 'completed' && text !== '' && { result: text }),
    ...(answer?.structured !== undefined && { structuredOutput: answer.structured }),
  }
  return { state: { ...withoutTurn(state), reportedError: outcome === 'failed' }, outputs: [ended] }
}

function outcomeOf({ interrupting }: TranslateState, { answer, error }: Turn): TurnOutcome {
  if (interrupting && (error || answer?.finish !== 'stop')) return 'cancelled'
  if (error) return isAbort(error) ? 'cancelled' : 'failed'
  return answer ? 'completed' : 'failed'
}

function isAbort({ name }: NativeError): boolean {
  return name === 'MessageAbortedError'
}

/** Advice for errors for which the agent gives none, by status or error name. */
const advice: Readonly<Record<string, string>> = {
  401: 'Check the key of the provider, or sign in with the program itself: opencode auth login',
  403: 'Check the key of the provider, or sign in with the program itself: opencode auth login',
  429: 'Send the prompt again later.',
  ProviderAuthError: 'Sign in with the program itself: opencode auth login',
  ContextOverflowError: 'Compact the session, then send the prompt again.',
}

export function errorOf(error: NativeError | undefined): ErrorInfo {
  if (!error) {
    const message = 'OpenCode ended the turn without an answer. Send the prompt again.'
    return { code: 'agent_failed', message }
  }
  const status = error.name === 'APIError' ? error.data.statusCode : undefined
  const more = advice[status ?? ''] ?? advice[error.name] ?? ''
  return {
    code: codeOf(error, status),
    message: [messageOf(error), more].join(' ').trim(),
    details: { name: error.name, ...(status !== undefined && { status }) },
  }
}

function codeOf({ name }: NativeError, status: number | undefined): ErrorInfo['code'] {
  if (name === 'ProviderAuthError' || status === 401 || status === 403) return 'agent_not_signed_in'
  if (status === 429) return 'rate_limited'
  if (name === 'ContextOverflowError' || status === 413) return 'too_large'
  return status === 529 ? 'busy' : 'agent_failed'
}

/** The message of the error, without the stack that OpenCode adds to unexpected errors. */
function messageOf({ name, data }: NativeError): string {
  const { message } = (data ?? {}) as { message?: unknown }
  return typeof message === 'string' && message !== '' ? message.replace(/\n\s+at [\s\S]*$/, '') : name
}
