import { messageOf, type TokenUsage } from '@parley/protocol'
import type { AgentOutput } from './agent-adapter.ts'

/**
 * The functions that all translators share. A translator is a pure function of its state and a native message. It
 * returns the next state and the outputs, and never throws.
 */
export type Translation<State> = { readonly state: State; readonly outputs: readonly AgentOutput[] }

export function noOutput<State>(state: State): Translation<State> {
  return { state, outputs: [] }
}

/** Reports a native message that is not understood, with the reason. */
export function unrecognised<State>(state: State, native: unknown, reason: string): Translation<State> {
  return { state, outputs: [{ type: 'agent.unrecognised', native, reason }] }
}

type Notice = Extract<AgentOutput, { type: 'agent.noticed' }>

/** A message of the agent that is not part of the conversation. */
export function notice(
  level: Notice['level'],
  code: string,
  text: string,
  more: Pick<Notice, 'data' | 'parentToolCallId'> = {},
): Notice {
  return { type: 'agent.noticed', level, code, text, ...more }
}

/** Reports that the agent is working. `detail` describes the work. */
export function working(detail?: string): AgentOutput {
  return { type: 'activity.changed', activity: 'active', ...(detail && { detail }) }
}

/**
 * Translates one native message. If `step` throws, the state is unchanged and the message becomes `agent.unrecognised`.
 */
export function attempt<State>(
  state: State,
  native: unknown,
  step: (state: State) => Translation<State>,
): Translation<State> {
  try {
    return step(state)
  } catch (error) {
    return unrecognised(state, native, `not of the expected shape: ${messageOf(error)}`)
  }
}

/** Applies the steps in order, each to the state that the previous one returned, and collects their outputs. */
export function sequence<State>(
  state: State,
  ...steps: readonly ((state: State) => Translation<State>)[]
): Translation<State> {
  let now = state
  const outputs: AgentOutput[] = []
  for (const step of steps) {
    const next = step(now)
    now = next.state
    outputs.push(...next.outputs)
  }
  return { state: now, outputs }
}

type WithTurn = { readonly turn: object | undefined; readonly interrupting: boolean }

/** Ends the turn: later messages are outside any turn. */
export function withoutTurn<State extends WithTurn>(state: State): State {
  return { ...state, turn: undefined, interrupting: false }
}

/** Called when the host has asked the agent to stop. Calls that do not complete after this count as cancelled. */
export function withInterrupt<State extends WithTurn>(state: State): State {
  return { ...state, interrupting: true }
}

/** Records that a call was denied, as the reason why it does not run. */
export function withDenied<State extends { readonly denied: ReadonlySet<string> }>(
  state: State,
  toolCallId: string,
): State {
  return { ...state, denied: new Set(state.denied).add(toolCallId) }
}

type WithCalls = { readonly calls: ReadonlyMap<string, unknown> }
type CallIn<State> = State extends { readonly calls: ReadonlyMap<string, infer Call> } ? Call : never

export function withCall<State extends WithCalls>(state: State, id: string, call: CallIn<State>): State {
  return { ...state, calls: new Map(state.calls).set(id, call) }
}

export const noTokens: TokenUsage = { input: 0, output: 0 }

/** Adds up token counts. An optional count that is zero is left out. */
export function sumTokens(a: TokenUsage, b: TokenUsage): TokenUsage {
  const add = (field: 'cacheRead' | 'cacheWrite' | 'reasoning') => {
    const value = (a[field] ?? 0) + (b[field] ?? 0)
    return value > 0 ? { [field]: value } : {}
  }
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    ...add('cacheRead'),
    ...add('cacheWrite'),
    ...add('reasoning'),
  }
}
