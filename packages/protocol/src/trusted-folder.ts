import { z } from 'zod'

/**
 * A folder that the person trusts, with all inside it: settings, hooks and servers that lie there may load. Listed and
 * revocable. `folder` is its real path, so that no link leads around the decision.
 */
export const TrustedFolder = z.object({ folder: z.string().min(1), trustedAt: z.number() })
export type TrustedFolder = z.infer<typeof TrustedFolder>

export const NewTrust = TrustedFolder.pick({ folder: true }).strict()
export type NewTrust = z.infer<typeof NewTrust>
