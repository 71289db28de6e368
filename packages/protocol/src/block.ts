import { z } from 'zod'
import { Actor } from './actor.ts'
import { ErrorInfo } from './error.ts'
import { AgentId, SessionId } from './ids.ts'
import { PermissionRequest, PermissionResolution } from './permission.ts'
import { Delivery, Outside, PromptPart } from './prompt.ts'
import { QuestionRequest, QuestionResolution } from './question.ts'
import { taggedUnion } from './tagged-union.ts'
import { ToolContent, ToolKind, ToolLocation } from './tool-call.ts'
import { TurnEnd } from './turn.ts'

/** Fields of every entry of the timeline. `seq` is the number of the event that started it. */
const base = {
  id: z.string(),
  seq: z.int(),
  at: z.number(),
  turnId: z.string().optional(),
  takenBack: z.int().optional().meta({
    description: 'The seq of the rewind that took the block back: the agent does not remember the block',
  }),
}
const parent = { parentToolCallId: z.string().optional() }

export const Block = taggedUnion('type', [
  z.object({
    ...base,
    type: z.literal('prompt'),
    parts: z.array(PromptPart),
    delivery: Delivery,
    outside: Outside.optional(),
    actor: Actor.optional().meta({ description: 'The person who submitted the prompt' }),
    status: z.enum(['sent', 'queued', 'withdrawn']),
    submittedSeq: z
      .int()
      .optional()
      .meta({ description: 'The seq of the event with the prompt, if that is not `seq`' }),
  }),
  z.object({
    ...base,
    type: z.literal('text'),
    text: z.string(),
    interrupted: z.boolean().optional(),
    ...parent,
  }),
  z.object({
    ...base,
    type: z.literal('thinking'),
    text: z.string(),
    interrupted: z.boolean().optional(),
    ...parent,
  }),
  z.object({
    ...base,
    type: z.literal('tool-call'),
    name: z.string(),
    kind: ToolKind,
    title: z.string(),
    input: z.unknown(),
    locations: z.array(ToolLocation).optional(),
    status: z.enum(['running', 'completed', 'failed', 'denied', 'cancelled']),
    content: z.array(ToolContent),
    endedAt: z.number().optional(),
    endedSeq: z.int().optional().meta({ description: 'The event with the result' }),
    inferred: z.boolean().optional(),
    ...parent,
  }),
  z.object({
    ...base,
    type: z.literal('permission'),
    request: PermissionRequest,
    resolution: PermissionResolution.optional(),
    resolvedAt: z.number().optional(),
    resolvedSeq: z.int().optional().meta({ description: 'The event with the answer' }),
    resolvedBy: Actor.optional().meta({ description: 'The person who answered the request' }),
  }),
  z.object({
    ...base,
    type: z.literal('question'),
    request: QuestionRequest,
    resolution: QuestionResolution.optional(),
    resolvedAt: z.number().optional(),
    resolvedSeq: z.int().optional().meta({ description: 'The event with the answer' }),
    resolvedBy: Actor.optional().meta({ description: 'The person who answered the request' }),
  }),
  z.object({ ...base, type: z.literal('turn-end'), end: TurnEnd }),
  z.object({
    ...base,
    type: z.literal('notice'),
    level: z.enum(['info', 'warning', 'error']),
    code: z.string(),
    text: z.string(),
    error: ErrorInfo.optional(),
    leadsTo: z.object({ sessionId: SessionId, agent: AgentId }).optional().meta({
      description: 'The session that the notice leads to, and its agent',
    }),
    ...parent,
  }),
  z.object({ ...base, type: z.literal('unrecognised'), native: z.unknown() }),
])
export type Block = z.infer<typeof Block>
export type BlockOf<Type extends Block['type']> = Extract<Block, { type: Type }>

/**
 * True if the block shows the text of the event with this `seq`: the event that started or that completed the block.
 */
export function showsEvent(block: Block, seq: number): boolean {
  if (block.seq === seq) return true
  if (block.type === 'prompt') return block.submittedSeq === seq
  if (block.type === 'tool-call') return block.endedSeq === seq
  return (block.type === 'permission' || block.type === 'question') && block.resolvedSeq === seq
}

/** A block that is still being written, with the text of its deltas so far. `gap` means that a piece is missing. */
export const OpenBlock = taggedUnion('type', [
  z.object({
    type: z.enum(['text', 'thinking']),
    id: z.string(),
    turnId: z.string().optional(),
    text: z.string(),
    gap: z.boolean().optional(),
    ...parent,
  }),
  z.object({
    type: z.literal('tool-call'),
    id: z.string(),
    turnId: z.string().optional(),
    name: z.string(),
    kind: ToolKind.optional(),
    title: z.string().optional(),
    called: z.boolean().meta({ description: 'false while the input is streamed' }),
    input: z.string(),
    output: z.string(),
    gap: z.boolean().optional(),
    ...parent,
  }),
])
export type OpenBlock = z.infer<typeof OpenBlock>
export type OpenToolCall = Extract<OpenBlock, { type: 'tool-call' }>
