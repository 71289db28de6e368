import { z } from 'zod'
import { BlockId, CommandId, ToolCallId, TurnId } from './ids.ts'
import type { SessionStatus } from './session.ts'
import { taggedUnion } from './tagged-union.ts'
import { ToolKind } from './tool-call.ts'

/**
 * Live, unrecorded pieces of blocks that are still being written. They have no `seq`. `offset` is the length of the
 * block before this piece, in UTF-16 code units, as JavaScript counts them. A reader drops the part it already has
 * and appends the rest. A piece that starts beyond the end of the block leaves a gap.
 */
const piece = { turnId: TurnId.optional(), offset: z.int().min(0), text: z.string() }
const parent = { parentToolCallId: ToolCallId.optional() }

export const TextStreamed = z.object({
  type: z.literal('text.streamed'),
  blockId: BlockId,
  ...piece,
  ...parent,
})
export const ThinkingStreamed = z.object({
  type: z.literal('thinking.streamed'),
  blockId: BlockId,
  ...piece,
  ...parent,
})
export const ToolCallDrafted = z.object({
  type: z.literal('tool-call.drafted'),
  turnId: TurnId.optional(),
  toolCallId: ToolCallId,
  name: z.string(),
  kind: ToolKind.optional(),
  title: z.string().optional(),
  ...parent,
})
export const ToolCallInputStreamed = z.object({
  type: z.literal('tool-call.input-streamed'),
  toolCallId: ToolCallId,
  ...piece,
})
export const ToolCallOutputStreamed = z.object({
  type: z.literal('tool-call.output-streamed'),
  toolCallId: ToolCallId,
  ...piece,
})
/**
 * The current activity of a session. active: the agent works, perhaps only in the background. asking: it waits for a
 * person. idle: neither.
 */
export const Activity = z.enum(['active', 'idle', 'asking'])
export type Activity = z.infer<typeof Activity>
/** The activity of a session with this status. A parked session is `asking`: it also waits for a person. */
export function activityOf(status: SessionStatus): Activity {
  if (status === 'idle') return 'idle'
  return status === 'working' || status === 'background' ? 'active' : 'asking'
}
export const ActivityChanged = z.object({
  type: z.literal('activity.changed'),
  turnId: TurnId.optional(),
  activity: Activity,
  detail: z.string().optional(),
})

/** The output of a program that runs for a command, such as a push: the last lines, which replace earlier ones. */
export const CommandProgressed = z.object({
  type: z.literal('command.progressed'),
  commandId: CommandId,
  text: z.string(),
})

export const Delta = taggedUnion('type', [
  TextStreamed,
  ThinkingStreamed,
  ToolCallDrafted,
  ToolCallInputStreamed,
  ToolCallOutputStreamed,
  ActivityChanged,
  CommandProgressed,
])
export type Delta = z.infer<typeof Delta>
/** The turn that a delta belongs to. Undefined if it belongs to none. */
export const turnOf = (delta: Delta): string | undefined =>
  delta.type === 'command.progressed' ? undefined : delta.turnId

export type DeltaType = Delta['type']

/** A delta as an adapter sends it: the live session adds the turn and the offset. */
export type DeltaDraft =
  Exclude<Delta, { type: 'command.progressed' }> extends infer D
    ? D extends Delta
      ? Omit<D, 'offset' | 'turnId'>
      : never
    : never

export const deltaTypes: ReadonlySet<string> = new Set(Delta.options.map((schema) => schema.shape.type.value))
