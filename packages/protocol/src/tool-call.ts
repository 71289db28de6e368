import { z } from 'zod'
import { taggedUnion } from './tagged-union.ts'

export const ToolKind = z.enum([
  'read',
  'edit',
  'delete',
  'move',
  'search',
  'execute',
  'fetch',
  'think',
  'plan',
  'subagent',
  'other',
])
export type ToolKind = z.infer<typeof ToolKind>

export const ToolLocation = z.object({ path: z.string(), line: z.number().optional() })
export type ToolLocation = z.infer<typeof ToolLocation>

export const Diff = z.object({
  path: z.string(),
  before: z
    .string()
    .nullable()
    .optional()
    .meta({ description: 'null: the file did not exist; absent: not known' }),
  after: z.string().nullable().optional().meta({ description: 'null: the file was deleted' }),
  patch: z.string().optional().meta({ description: 'A unified diff, instead of before and after' }),
  movedFrom: z.string().optional().meta({ description: 'The previous path of the file' }),
})
export type Diff = z.infer<typeof Diff>

export const ToolContent = taggedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('image'), mimeType: z.string(), data: z.string() }),
  z.object({ type: z.literal('diff'), ...Diff.shape }),
  z.object({
    type: z.literal('terminal'),
    output: z.string(),
    exitCode: z.number().nullable().optional(),
    signal: z.string().optional(),
  }),
  z.object({
    type: z.literal('resource'),
    uri: z.string(),
    mimeType: z.string().optional(),
    text: z.string().optional(),
  }),
])
export type ToolContent = z.infer<typeof ToolContent>

export const ToolOutcome = z.enum(['completed', 'failed', 'denied', 'cancelled'])
export type ToolOutcome = z.infer<typeof ToolOutcome>

/** Kinds that change nothing outside the conversation. */
export const readOnlyKinds: ReadonlySet<ToolKind> = new Set(['read', 'search', 'think'])

/**
 * The prefix of a host tool in logs, rules and lists of tools. It distinguishes host tools from an agent's own tools.
 */
export const hostToolPrefix = 'host:'

/**
 * The name of a host tool in logs, rules and lists. The agent's model calls the tool by its name without the
 * prefix.
 */
export function hostToolName(name: string): string {
  return `${hostToolPrefix}${name}`
}
