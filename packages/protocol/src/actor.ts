import { z } from 'zod'
import { PersonId } from './ids.ts'

const named = z.object({ id: z.string(), name: z.string() })

/** The face that a request came through. */
export const Via = z.enum(['http', 'websocket', 'chat', 'acp', 'ipc', 'library'])
export type Via = z.infer<typeof Via>

/**
 * The person who caused an event or a setting, and the browser, token or link that the person used. Names are copies from the time of the event. At most one of
 * `device`, `token` and `link` is present.
 */
export const Actor = z.object({
  person: z.object({ id: PersonId, name: z.string() }),
  device: named.optional().meta({ description: 'The browser' }),
  token: named.optional().meta({ description: 'The named token' }),
  link: named.optional().meta({ description: 'The link that decides one call' }),
  via: Via,
})
export type Actor = z.infer<typeof Actor>
