import { z } from 'zod'
import { Actor } from './actor.ts'
import { Place } from './place.ts'

/**
 * A folder that the person trusts, with everything inside it: agents may load its settings, hooks and MCP servers. The
 * decision is listed and can be revoked. `folder` is the real path, so that a symbolic link cannot bypass the decision.
 */
export const TrustedFolder = z.object({
  folder: z.string().min(1),
  place: Place.optional(),
  trustedAt: z.number(),
  trustedBy: Actor.optional(),
})
export type TrustedFolder = z.infer<typeof TrustedFolder>

export const NewTrust = TrustedFolder.pick({ folder: true, place: true }).strict()
export type NewTrust = z.infer<typeof NewTrust>
