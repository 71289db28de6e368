import { z } from 'zod'
import { withoutHidden } from './hidden-characters.ts'
import { AgentId, InviteId, PersonId, SessionId, TokenId } from './ids.ts'
import { Place } from './place.ts'
import { allScopes, Role, Scope } from './scope.ts'

/** The sessions, folders and agents that a device or a token may use. An absent list permits all of its kind. */
export const Limits = z.strictObject({
  sessions: z.array(SessionId).min(1).max(100).optional(),
  folders: z
    .array(z.strictObject({ folder: z.string().min(1).max(4096), place: Place.optional() }))
    .min(1)
    .max(100)
    .optional()
    .meta({ description: 'Each folder with all folders inside it; stored as real paths' }),
  agents: z.array(AgentId).min(1).max(100).optional(),
})
export type Limits = z.infer<typeof Limits>

export const Scopes = z.array(Scope).min(1).max(allScopes.length)
/** A name is shown beside decisions, so it has one line and no hidden characters. */
export const PersonName = z
  .string()
  .trim()
  .min(1)
  .max(100)
  .refine((name) => withoutHidden(name) === name && !/[\t\r\n]/.test(name), 'has hidden characters')
export const Lifetime = z
  .int()
  .min(60_000)
  .max(10 * 365 * 86_400_000)
  .meta({ description: 'In milliseconds' })

export const Person = z.object({
  personId: PersonId,
  name: z.string(),
  role: Role,
  createdAt: z.number(),
  disabledAt: z.number().optional(),
  current: z.literal(true).optional().meta({ description: 'Set for the person who sent the request' }),
})
export type Person = z.infer<typeof Person>

export const PersonPatch = z.strictObject({
  name: PersonName.optional(),
  role: Role.optional(),
  disabled: z.boolean().optional(),
})
export type PersonPatch = z.infer<typeof PersonPatch>

export const NewInvite = z.strictObject({
  role: Role,
  name: PersonName.optional().meta({ description: 'A suggestion; the invited person may change it' }),
  lifetimeMs: Lifetime.default(7 * 86_400_000),
})
export type NewInvite = z.infer<typeof NewInvite>
export type NewInviteInput = z.input<typeof NewInvite>

export const Invite = z.object({
  inviteId: InviteId,
  role: Role,
  name: z.string().optional(),
  createdAt: z.number(),
  expiresAt: z.number(),
})
export type Invite = z.infer<typeof Invite>

/** A token that a person gave a name. Its secret is shown once, when it is created. */
export const NamedToken = z.object({
  tokenId: TokenId,
  personId: PersonId,
  name: z.string(),
  hint: z.string().meta({ description: 'The last characters of the secret' }),
  scopes: Scopes,
  limits: Limits.optional(),
  createdAt: z.number(),
  expiresAt: z.number().optional(),
  lastUsedAt: z.number().optional().meta({ description: 'Updated at most once a minute' }),
  current: z.literal(true).optional().meta({ description: 'Set for the token that sent the request' }),
})
export type NamedToken = z.infer<typeof NamedToken>

export const NewToken = z.strictObject({
  name: PersonName,
  scopes: Scopes.default(['read']),
  limits: Limits.optional(),
  lifetimeMs: Lifetime.optional(),
})
export type NewToken = z.infer<typeof NewToken>
export type NewTokenInput = z.input<typeof NewToken>

/** The principal of a request: the person, the device or token, and its scopes and limits. */
export const Me = z.object({
  person: Person.partial({ role: true, createdAt: true }).meta({
    description: 'The role and the time are absent if the server does not store the person',
  }),
  kind: z.enum(['device', 'token', 'embedded']),
  id: z.string(),
  name: z.string(),
  scopes: z.array(Scope),
  limits: Limits.optional(),
  features: z.object({ terminals: z.boolean(), alerts: z.boolean() }).optional().meta({
    description: 'The features of this server. In a server inside another program, both may be false',
  }),
})
export type Me = z.infer<typeof Me>

/** The first characters of the code in the link of an invitation. */
export const invitePrefix = 'invite-'

/** The first characters of a named token's secret, by which people and scanners recognise it. */
export const tokenPrefix = 'prly_'
