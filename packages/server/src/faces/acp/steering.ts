import { z } from 'zod'

/**
 * The method that sends a prompt into the running turn. It is not part of ACP, but other agents use the same
 * name.
 */
export const steeringMethod = '_session/steering'

const text = z.string()
const mimeType = text.nullish()

/** The SDK checks only the parameters of standard methods, so the parameters of this method are checked here. */
export const SteeringRequest = z.object({
  sessionId: text,
  prompt: z
    .array(
      z.discriminatedUnion('type', [
        z.object({ type: z.literal('text'), text }),
        z.object({ type: z.literal('image'), data: text, mimeType: text }),
        z.object({ type: z.literal('audio'), data: text, mimeType: text }),
        z.object({ type: z.literal('resource_link'), name: text, uri: text, mimeType }),
        z.object({
          type: z.literal('resource'),
          resource: z.union([
            z.object({ uri: text, text, mimeType }),
            z.object({ uri: text, blob: text, mimeType }),
          ]),
        }),
      ]),
    )
    .min(1),
})
