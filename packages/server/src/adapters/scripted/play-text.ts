import type { AgentOutput } from '@parley/adapter-kit'
import type { FloodStep, RetractionStep, TextStep, ThinkingStep } from './script.ts'
import { type Place, type Playing, parentOf, type Turn } from './turn.ts'

type BlockKind = 'text' | 'thinking'

export async function* playText(turn: Turn, step: TextStep | ThinkingStep, place: Place): Playing {
  const { type, text } = step
  const blockId = turn.newId(type)
  yield* stream(turn, { kind: type, blockId, step, place })
  yield { type: `${type}.written`, blockId, text, ...parentOf(place) }
  return undefined
}

/** Plays a text that the player itself writes, such as a reply to an answer. */
export function writeText(turn: Turn, text: string, place: Place): Playing {
  return playText(turn, { type: 'text', text }, place)
}

export async function* playRetraction(turn: Turn, step: RetractionStep, place: Place): Playing {
  const blockId = turn.newId('text')
  yield* stream(turn, { kind: 'text', blockId, step, place })
  if (!step.unwritten) yield { type: 'text.written', blockId, text: step.text, ...parentOf(place) }
  yield { type: 'block.retracted', blockId, ...(step.reason !== undefined && { reason: step.reason }) }
  return undefined
}

type Streamed = { kind: BlockKind; blockId: string; step: { text: string; pieces?: number }; place: Place }

async function* stream(turn: Turn, { kind, blockId, step, place }: Streamed): AsyncGenerator<AgentOutput> {
  const pieces = step.pieces === undefined ? inWords(step.text) : inPieces(step.text, step.pieces)
  for (const text of pieces) {
    yield { type: `${kind}.streamed`, blockId, text, ...parentOf(place) }
    await turn.pace()
  }
}

/** Splits a text into words, each with the whitespace before it. */
export function inWords(text: string): string[] {
  return text.match(/\s*\S+|\s+$/gu) ?? []
}

/** Splits a text into at most `count` pieces of about equal length. Surrogate pairs stay whole. */
export function inPieces(text: string, count: number): string[] {
  const characters = Array.from(text)
  if (count < 1 || characters.length === 0) return []
  const size = Math.ceil(characters.length / count)
  const pieces: string[] = []
  for (let at = 0; at < characters.length; at += size) pieces.push(characters.slice(at, at + size).join(''))
  return pieces
}

/**
 * Plays a flood of deltas. Buffers nothing while it streams: the text of a block is built once, when the
 * block is written.
 */
export async function* playFlood(turn: Turn, step: FloodStep, place: Place): Playing {
  const { deltas, size, blocks = 1, of = 'text' } = step
  const text = 'flood '.repeat(Math.ceil(size / 6)).slice(0, size)
  for (let block = 0; block < blocks; block++) {
    const count = Math.floor(((block + 1) * deltas) / blocks) - Math.floor((block * deltas) / blocks)
    if (of === 'tool-output') yield* floodCall(turn, { count, text, place })
    else yield* floodBlock(turn, { count, text, place, of })
  }
  return undefined
}

type Flood = { count: number; text: string; place: Place }

async function* floodBlock(turn: Turn, flood: Flood & { of: BlockKind }): AsyncGenerator<AgentOutput> {
  const { count, text, place, of } = flood
  const blockId = turn.newId(of)
  for (let sent = 0; sent < count; sent++) {
    yield { type: `${of}.streamed`, blockId, text, ...parentOf(place) }
  }
  yield { type: `${of}.written`, blockId, text: text.repeat(count), ...parentOf(place) }
}

async function* floodCall(turn: Turn, { count, text, place }: Flood): AsyncGenerator<AgentOutput> {
  const toolCallId = turn.newId('call')
  const parent = parentOf(place)
  yield {
    type: 'tool-call.called',
    toolCallId,
    name: 'Flood',
    kind: 'other',
    title: 'Flood',
    input: {},
    ...parent,
  }
  for (let sent = 0; sent < count; sent++) yield { type: 'tool-call.output-streamed', toolCallId, text }
  yield {
    type: 'tool-call.ended',
    toolCallId,
    outcome: 'completed',
    content: [{ type: 'text', text: text.repeat(count) }],
    ...parent,
  }
}
