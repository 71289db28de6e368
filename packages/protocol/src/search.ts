import { z } from 'zod'
import { SessionSummary } from './session-summary.ts'

/**
 * The kind of a found text. prompt: a prompt, or a person's answer to a question. answer: a text or a question of the
 * agent. call: a tool call. output: the result of a call.
 */
export const SearchKind = z.enum(['prompt', 'answer', 'call', 'output'])
export type SearchKind = z.infer<typeof SearchKind>

export const SearchHit = z.object({
  seq: z.int().min(1).meta({ description: 'The event that contains the text' }),
  at: z.number(),
  kind: SearchKind,
  text: z.string().meta({ description: 'The part of the text around the found words' }),
  marks: z
    .array(z.tuple([z.int(), z.int()]))
    .meta({ description: 'The start and the end of each found word in `text`, in order' }),
  session: SessionSummary,
})
export type SearchHit = z.infer<typeof SearchHit>

export const SearchPage = z.object({
  hits: z.array(SearchHit).meta({ description: 'The newest first' }),
  cursor: z.string().optional().meta({ description: 'Present if there are more hits' }),
  pending: z.int().optional().meta({
    description:
      'The number of sessions that are not searched completely yet, because they are still being indexed',
  }),
})
export type SearchPage = z.infer<typeof SearchPage>
