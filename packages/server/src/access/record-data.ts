import { allScopes, Limits, Role, Scope } from '@parley/protocol'
import { z } from 'zod'

/** The owner of the server. Records of versions without people belong to this person. */
export const ownerId = 'per_owner'

/**
 * A person's account at an OpenID provider. The subject alone is not unique; an e-mail address can change its owner.
 */
export const Identity = z.object({ issuer: z.string(), subject: z.string() })
export type Identity = z.infer<typeof Identity>

/** The data of a person's record. */
export const PersonData = z.object({
  name: z.string(),
  role: Role,
  disabledAt: z.number().optional(),
  identities: z.array(Identity).optional(),
})
export type PersonData = z.infer<typeof PersonData>

const grant = {
  name: z.string(),
  personId: z.string().default(ownerId),
  scopes: z.array(Scope).default([...allScopes]),
  limits: Limits.optional(),
  expiresAt: z.number().optional(),
}

/** The data of a device's record. A device of an earlier version has a name and a key only. */
export const DeviceData = z.object({
  ...grant,
  publicKey: z.string().optional(),
  /** The SHA-256 of the secret of a weak device, which has no key. */
  secretHash: z.string().optional(),
})
export type DeviceData = z.infer<typeof DeviceData>

/** The data of a token's record. `hash` is the SHA-256 of the secret. */
export const TokenData = z.object({ ...grant, hash: z.string(), hint: z.string() })
export type TokenData = z.infer<typeof TokenData>

/** The data of an invitation. `hash` is the SHA-256 of its code. */
export const InviteData = z.object({
  role: Role,
  name: z.string().optional(),
  hash: z.string(),
  expiresAt: z.number(),
})
export type InviteData = z.infer<typeof InviteData>

/** The data that devices and tokens have in common. */
export type GrantData = DeviceData | TokenData
