import { z } from 'zod'
import { AgentId, PromptId, SessionId } from './ids.ts'

/** The name of the file in which an agent gets a hand-off. */
export const handOffFileName = 'hand-off.md'

const before = PromptId.optional().meta({ description: 'Only what was before this prompt is handed over' })

const upTo = z.int().min(1).optional().meta({
  description: 'Only events up to this one are handed over; not used with `before`',
})

/** The session whose work a new session continues. `before` or `upTo` limits the events that are handed over. */
export const HandOffSource = z.strictObject({
  sessionId: SessionId,
  before,
  upTo,
})
export type HandOffSource = z.infer<typeof HandOffSource>

/** The session whose work a session continues, and the last event that was handed over. */
export const HandOffOrigin = z.object({
  sessionId: SessionId,
  seq: z.int().min(0).meta({ description: 'The last event that was handed over' }),
  before,
  edited: z.literal(true).optional().meta({ description: 'A person has edited the text' }),
})
export type HandOffOrigin = z.infer<typeof HandOffOrigin>

/** The size of a hand-off, and the numbers of its shortened and missing parts. */
export const HandOffSize = z.object({
  characters: z.int(),
  turns: z.int().meta({ description: 'The number of turns of the session' }),
  shortened: z.int().meta({ description: 'The number of turns that are shortened' }),
  leftOut: z.int().meta({ description: 'The number of turns that are left out' }),
  images: z.int().meta({ description: 'The number of images that are attached' }),
  imagesNamed: z.int().meta({ description: 'The number of images that are only named' }),
})
export type HandOffSize = z.infer<typeof HandOffSize>

/** The text of a hand-off, for review before an agent gets it. */
export const HandOffPreview = HandOffSize.extend({
  text: z.string(),
  seq: z.int().meta({ description: 'The last event that is handed over; `upTo` of `from`' }),
  budget: z.int().meta({ description: 'The longest text for this agent and model, in characters' }),
})
export type HandOffPreview = z.infer<typeof HandOffPreview>

/** The query of the route that previews a hand-off. */
export const HandOffQuery = z.object({
  agent: AgentId,
  model: z.string().optional(),
  before,
  upTo,
})
export type HandOffQuery = z.infer<typeof HandOffQuery>
