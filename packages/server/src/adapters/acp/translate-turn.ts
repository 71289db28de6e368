import type { AgentOutput } from '@parley/adapter-kit'
import { noOutput, sumTokens } from '@parley/adapter-kit/translation'
import { type ErrorInfo, isRecord, type TokenUsage, type TurnOutcome } from '@parley/protocol'
import type { NativeError, NativePromptResult } from './native.ts'
import { reportUsage } from './translate-session.ts'
import { sequence, type TranslateState, type Translation } from './translate-state.ts'
import { closeTexts } from './translate-text.ts'
import { callDrafts, endRefused } from './translate-tool-call.ts'

/** Called when a prompt is sent to the agent: begins a turn of the host. */
export function beginTurn(state: TranslateState, params: unknown): Translation {
  const { prompt } = (params ?? {}) as { prompt?: readonly { type?: string; text?: string }[] }
  const [, command] = /^\/([\w-]+)/.exec(prompt?.[0]?.text ?? '') ?? []
  const calls = new Map([...state.calls].filter(([, { stage }]) => stage !== 'ended'))
  const turn = { interrupting: false, command, costBefore: state.usage.costUsd }
  return sequence(state, closeTexts, (now) =>
    noOutput({
      ...now,
      turn,
      calls,
      replaying: false,
      lastPrompt: '',
      isInPrompt: false,
      openCall: undefined,
    }),
  )
}

export function interruptTurn(state: TranslateState): Translation {
  const { turn } = state
  return noOutput(turn ? { ...state, turn: { ...turn, interrupting: true } } : state)
}

/** Called with the response to the prompt: ends the turn and completes all open texts. */
export function endTurn(
  state: TranslateState,
  answer: { readonly result?: NativePromptResult; readonly error?: NativeError },
): Translation {
  const used = answer.result && tokensOf(answer.result)
  const total = used ? sumTokens(state.usage.total, used) : state.usage.total
  return sequence(
    { ...state, usage: { ...state.usage, total } },
    callDrafts,
    closeTexts,
    endRefused,
    reportUsage,
    (now) => ({
      state: { ...now, turn: undefined, asked: new Map() },
      outputs: now.turn ? [endOf(now, answer, used)] : [],
    }),
  )
}

function endOf(
  { turn, usage }: TranslateState,
  { result, error }: { readonly result?: NativePromptResult; readonly error?: NativeError },
  used: TokenUsage | undefined,
): AgentOutput {
  const costUsd = usage.costUsd === undefined ? undefined : usage.costUsd - (turn?.costBefore ?? 0)
  const measured = { ...(used && { usage: used }), ...(costUsd !== undefined && costUsd >= 0 && { costUsd }) }
  if (error) {
    const outcome = turn?.interrupting ? 'cancelled' : 'failed'
    const info = errorOf(error)
    return {
      type: 'turn.ended',
      outcome,
      stopReason: 'error',
      ...(outcome === 'failed' && { error: info }),
      ...measured,
    }
  }
  const stopReason = result?.stopReason ?? 'end_turn'
  const outcome = outcomes[stopReason] ?? 'completed'
  const message = limits[stopReason]
  return {
    type: 'turn.ended',
    outcome,
    stopReason,
    ...(message !== undefined && { error: { code: 'agent_failed', message } }),
    ...measured,
  }
}

const outcomes: Readonly<Record<string, TurnOutcome>> = {
  end_turn: 'completed',
  cancelled: 'cancelled',
  max_tokens: 'failed',
  max_turn_requests: 'failed',
  refusal: 'failed',
}

const limits: Readonly<Record<string, string>> = {
  max_tokens: 'The model reached its output limit. Send a prompt to continue.',
  max_turn_requests: 'The agent reached its limit of steps for one turn, or repeated itself.',
  refusal: 'The model refused to answer.',
}

const codes: Readonly<Record<string, ErrorInfo['code']>> = {
  401: 'agent_not_signed_in',
  403: 'agent_not_signed_in',
  '-32000': 'agent_not_signed_in',
  413: 'too_large',
  429: 'rate_limited',
  503: 'busy',
  529: 'busy',
}
const kinds: Readonly<Record<string, ErrorInfo['code']>> = {
  rate_limit: 'rate_limited',
  authentication_failed: 'agent_not_signed_in',
  overloaded: 'busy',
}

/** The agent's error in a form that people can read. */
export function errorOf({ code, message = '', data }: NativeError): ErrorInfo {
  const fields = isRecord(data) ? data : {}
  const kind = typeof fields.errorKind === 'string' ? fields.errorKind : undefined
  const details = typeof fields.details === 'string' ? fields.details : undefined
  const plain = unwrapped(message.replace(/^Internal error:? ?/, ''))
  return {
    code: (kind && kinds[kind]) || codes[String(code)] || 'agent_failed',
    message: plain || details || 'The agent failed and gave no reason.',
    details: {
      ...(code !== undefined && { code }),
      ...(kind && { kind }),
      ...(plain && details && { details }),
    },
  }
}

/** Returns the message inside an error that is JSON itself, as some services send it. */
function unwrapped(message: string): string {
  try {
    const { error } = JSON.parse(message) as { error?: { message?: unknown } }
    return typeof error?.message === 'string' ? error.message : message
  } catch {
    return message
  }
}

function tokensOf({ usage, _meta }: NativePromptResult): TokenUsage | undefined {
  if (usage) {
    return {
      input: usage.inputTokens ?? 0,
      output: usage.outputTokens ?? 0,
      ...(usage.cachedReadTokens && { cacheRead: usage.cachedReadTokens }),
      ...(usage.cachedWriteTokens && { cacheWrite: usage.cachedWriteTokens }),
      ...(usage.thoughtTokens && { reasoning: usage.thoughtTokens }),
    }
  }
  const counted = _meta?.quota?.token_count
  return counted && { input: counted.input_tokens ?? 0, output: counted.output_tokens ?? 0 }
}
