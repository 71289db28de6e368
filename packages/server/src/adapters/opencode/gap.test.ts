import type { Part, SessionStatus, Todo } from '@opencode-ai/sdk/v2/client'
import type { AgentOutput } from '@parley/adapter-kit'
import { outputsOf } from '@parley/adapter-kit/testing'
import { describe, expect, it } from 'vitest'
import {
  allOutputs,
  beginning,
  type FixtureLine,
  fixtureNames,
  readFixture,
  step,
} from './fixtures-under-test.ts'
import type { NativeMessage } from './native.ts'
import { reconcile, reconcileStatus } from './translate-snapshot.ts'
import type { TranslateState, Translation } from './translate-state.ts'
import { withGap } from './translate-stream.ts'

/**
 * A place in a recording where the event stream breaks off and starts again. The data that OpenCode has stored
 * meanwhile is derived from the recorded events, except for deltas, which it does not store. The outputs must be the
 * same for every cut.
 */
type Cut = {
  readonly from: number
  readonly to: number
  /** The line numbers after which the test reads the messages, then the status, and then the messages again. */
  readonly reads: readonly [number, number, number]
}

type Kept = {
  readonly messages: Map<string, { info: NativeMessage; parts: Map<string, Part> }>
  readonly todos: Map<string, readonly Todo[]>
  readonly statuses: Record<string, SessionStatus>
}

function keptAfter(lines: readonly FixtureLine[]): Kept {
  const kept: Kept = { messages: new Map(), todos: new Map(), statuses: {} }
  for (const { type, properties } of lines as readonly { type: string; properties: never }[]) {
    if (type === 'message.updated') {
      const { info } = properties as { info: NativeMessage }
      const parts = kept.messages.get(info.id)?.parts ?? new Map()
      kept.messages.set(info.id, { info, parts })
    } else if (type === 'message.part.updated') {
      const { part } = properties as { part: Part }
      kept.messages.get(part.messageID)?.parts.set(part.id, part)
    } else if (type === 'todo.updated') {
      const { sessionID, todos } = properties as { sessionID: string; todos: Todo[] }
      kept.todos.set(sessionID, todos)
    } else if (type === 'session.status') {
      const { sessionID, status } = properties as { sessionID: string; status: SessionStatus }
      if (status.type === 'idle') delete kept.statuses[sessionID]
      else kept.statuses[sessionID] = status
    }
  }
  return kept
}

/** Does the same as `catchUp`, but with stored data instead of a server. */
function caughtUp(
  before: TranslateState,
  [first, { statuses }, second]: readonly [Kept, Kept, Kept],
  certain = false,
): Translation {
  const translated = translateMessages({ state: before, outputs: [] }, first)
  const { root, turn } = translated.state
  const status = statuses[root]
  if (status) return also(translated, reconcileStatus(translated.state, status))
  if (!certain && !turn?.begun && !turn?.answer) return translated
  const whole = translateMessages(translated, second)
  return also(whole, reconcileStatus(whole.state, { type: 'idle' }))
}

function translateMessages(before: Translation, { messages, todos }: Kept): Translation {
  let next = before
  const seen = new Set<string>()
  for (;;) {
    const sessionID = Object.keys(next.state.sessions).find((id) => !seen.has(id))
    if (sessionID === undefined) return next
    seen.add(sessionID)
    const own = [...messages.values()].filter(({ info }) => info.sessionID === sessionID)
    const list = own.map(({ info, parts }) => ({ info, parts: [...parts.values()] }))
    const kept = { sessionID, messages: list, todos: todos.get(sessionID) ?? [] }
    next = also(next, reconcile(next.state, kept))
  }
}

function also(before: Translation, { state, outputs }: Translation): Translation {
  return { state, outputs: [...before.outputs, ...outputs] }
}

function withCut(lines: readonly FixtureLine[], cut: Cut): AgentOutput[] {
  const outputs: AgentOutput[] = []
  let state = beginning(lines)
  const take = (next: Translation) => {
    state = next.state
    outputs.push(...next.outputs)
  }
  const isOurs = ({ type }: FixtureLine) => type.startsWith('parley.')
  for (const line of lines.slice(0, cut.from)) take(step(state, line))
  for (const line of lines.slice(cut.from, cut.to).filter(isOurs)) take(step(state, line))
  state = withGap(state)
  const [first, second, third] = cut.reads
  const kept = (at: number) => keptAfter(lines.slice(0, at))
  take(caughtUp(state, [kept(first), kept(second), kept(third)]))
  for (const line of lines.slice(cut.to)) take(step(state, line))
  const all = kept(lines.length)
  if (state.turn) take(caughtUp(state, [all, all, all], true))
  return outputs
}

/**
 * Generates cuts at random places, but never across the start of a turn, because a prompt is sent only after the end of
 * the previous turn was reported. Reads happen at or after the end of the cut, before our next message.
 */
function* cutsOf(lines: readonly FixtureLine[]): Generator<Cut> {
  const random = pseudoRandom(lines.length)
  const resolvesWithin = (from: number, to: number) => from + Math.floor(random() * (to - from + 1))
  for (let count = 0; count < 150; count++) {
    const from = resolvesWithin(0, lines.length)
    const to = resolvesWithin(from, nextOfType(lines, from, 'parley.turn'))
    const last = nextOfType(lines, to, 'parley.')
    const reads = [resolvesWithin(to, last), resolvesWithin(to, last), resolvesWithin(to, last)].toSorted(
      (a, b) => a - b,
    )
    yield { from, to, reads: reads as [number, number, number] }
  }
}

/** The index of the next line whose type starts with `kind`; the number of lines if there is none. */
function nextOfType(lines: readonly FixtureLine[], from: number, kind: string): number {
  const found = lines.findIndex(({ type }, index) => index >= from && type.startsWith(kind))
  return found === -1 ? lines.length : found
}

function pseudoRandom(seed: number): () => number {
  let state = seed * 7919 + 1
  return () => {
    state = (state * 48271) % 2147483647
    return state / 2147483647
  }
}

/** The part of the outputs that must be the same with and without a cut. */
function comparablePart(outputs: readonly AgentOutput[]) {
  const written = [...outputsOf(outputs, 'text.written'), ...outputsOf(outputs, 'thinking.written')]
  const sorted = <Value>(values: Value[]) => values.map((value) => JSON.stringify(value)).toSorted()
  return {
    written: sorted(written),
    called: sorted(outputsOf(outputs, 'tool-call.called')),
    ended: sorted(
      outputsOf(outputs, 'tool-call.ended').map(({ toolCallId, parentToolCallId: of }) => [toolCallId, of]),
    ),
    turns: outputsOf(outputs, 'turn.ended').map(({ outcome, usage }) => ({ outcome, usage })),
    plan: outputsOf(outputs, 'plan.updated').at(-1)?.entries,
    used: outputsOf(outputs, 'usage.measured').at(-1)?.total,
    compacted: outputsOf(outputs, 'context.compacted').map(({ trigger, summary }) => ({ trigger, summary })),
  }
}

function brokenBlocks(outputs: readonly AgentOutput[]): string[] {
  const streamed = new Map<string, string>()
  const broken: string[] = []
  for (const output of outputs) {
    if (output.type === 'text.streamed' || output.type === 'thinking.streamed') {
      streamed.set(output.blockId, (streamed.get(output.blockId) ?? '') + output.text)
    } else if (output.type === 'block.retracted') streamed.delete(output.blockId)
    else if (output.type === 'text.written' || output.type === 'thinking.written') {
      if ((streamed.get(output.blockId) ?? output.text) !== output.text) broken.push(output.blockId)
      streamed.delete(output.blockId)
    }
  }
  return [...broken, ...streamed.keys()]
}

describe.each(fixtureNames)('the recording %s', (name) => {
  it('gives the same outputs, wherever its stream is cut', () => {
    const lines = readFixture(name)
    const whole = comparablePart(allOutputs(name))
    for (const cut of cutsOf(lines)) {
      const outputs = withCut(lines, cut)
      expect(comparablePart(outputs), JSON.stringify(cut)).toEqual(whole)
      expect(brokenBlocks(outputs), JSON.stringify(cut)).toEqual([])
      expect(outputsOf(outputs, 'agent.unrecognised')).toEqual([])
    }
  })
})
