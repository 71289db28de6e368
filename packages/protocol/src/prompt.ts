import { z } from 'zod'
import { Actor } from './actor.ts'
import { SessionId } from './ids.ts'
import { taggedUnion } from './tagged-union.ts'

const handOff = SessionId.optional().meta({
  description: 'The session of which the text is a hand-off',
})

const TextPart = z.object({ type: z.literal('text'), text: z.string(), handOff })
const ImagePart = z.object({
  type: z.literal('image'),
  mimeType: z.string(),
  data: z.base64().meta({ description: 'The image, base64' }),
  name: z.string().optional(),
})
const FilePart = z
  .object({
    type: z.literal('file'),
    name: z.string(),
    mimeType: z.string().optional(),
    path: z.string().optional().meta({ description: 'A path inside the session folder' }),
    text: z.string().optional(),
    data: z.base64().optional(),
    handOff,
  })
  .refine(({ path, text, data }) => (path ?? text ?? data) !== undefined, {
    message: 'a file needs its path, its text or its data',
  })
/** A command of the agent that is not a message to its model, e.g. compact. */
const CommandPart = z.object({
  type: z.literal('command'),
  name: z.string(),
  arguments: z.string().optional(),
})

export const PromptPart = taggedUnion('type', [TextPart, ImagePart, FilePart, CommandPart])
export type PromptPart = z.infer<typeof PromptPart>

/** All parts of a prompt, at least one of which is not empty. */
export const PromptParts = z
  .array(PromptPart)
  .min(1)
  .refine((parts) => parts.some((part) => part.type !== 'text' || part.text.trim() !== ''), {
    message: 'the prompt is empty',
  })

/** queue: the prompt gets its own turn, after the prompts before it. steer: it is sent into the running turn. */
export const Delivery = z.enum(['queue', 'steer'])
export type Delivery = z.infer<typeof Delivery>

/** A prompt that was given in the agent's own program and read from the agent's record of the conversation. */
export const Outside = z.object({
  id: z.string().optional().meta({ description: "The agent's own id of the prompt" }),
  at: z.number().optional().meta({ description: 'When the prompt was given' }),
})
export type Outside = z.infer<typeof Outside>

export const Prompt = z.object({
  promptId: z.string(),
  parts: z.array(PromptPart),
  delivery: Delivery,
  at: z.number(),
  paused: z.literal(true).optional().meta({ description: 'Waits until queue.resume' }),
  outside: Outside.optional(),
  actor: Actor.optional().meta({ description: 'The person who submitted the prompt' }),
})
export type Prompt = z.infer<typeof Prompt>

/** The text of a prompt, for titles, search and agents that accept only text. */
export function promptText(parts: readonly PromptPart[]): string {
  return parts
    .map((part) => {
      if (part.type === 'text') return part.text
      if (part.type === 'command') return `/${part.name}${part.arguments ? ` ${part.arguments}` : ''}`
      return `[${part.type}${part.name ? `: ${part.name}` : ''}]`
    })
    .join('\n')
}
