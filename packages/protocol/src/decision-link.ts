import { z } from 'zod'
import { DecisionLinkId, PersonId, RequestId, SessionId } from './ids.ts'
import { PersonName } from './people.ts'
import { OpenPermissionRequest } from './session-state.ts'

/** A decision that a link can make. Its scope is always `once`. */
export const LinkDecision = z.enum(['allow', 'deny'])
export type LinkDecision = z.infer<typeof LinkDecision>

/**
 * The maximum lifetime of a link: long enough for a person to see the message, and short enough that a forgotten link
 * soon expires.
 */
export const longestLinkMs = 86_400_000
export const defaultLinkMs = 3_600_000

const decisions = z.array(LinkDecision).min(1).max(LinkDecision.options.length)

/** A link that decides one permission request, once, without signing in. */
export const DecisionLink = z.object({
  linkId: DecisionLinkId,
  name: z.string().meta({ description: 'Shown beside what the link decided' }),
  sessionId: SessionId,
  requestId: RequestId,
  decisions: decisions.meta({
    description: 'The decisions that the link can make; each is for this call only',
  }),
  personId: PersonId,
  createdAt: z.number(),
  expiresAt: z.number(),
})
export type DecisionLink = z.infer<typeof DecisionLink>

export const NewDecisionLink = z.strictObject({
  requestId: RequestId,
  inputHash: z
    .string()
    .optional()
    .meta({ description: 'The hash of the request that was shown; another hash is a conflict' }),
  decisions: decisions
    .default(['deny'])
    .meta({ description: 'allow needs the setting decideByLink of the server' }),
  name: PersonName.optional().meta({
    description:
      'The name of the link, such as "for Ana", shown after the word "link". By default, it names the browser or token of the caller',
  }),
  lifetimeMs: z
    .int()
    .min(60_000)
    .max(longestLinkMs)
    .optional()
    .meta({ description: 'In milliseconds; the default is an hour' }),
})
export type NewDecisionLink = z.infer<typeof NewDecisionLink>
export type NewDecisionLinkInput = z.input<typeof NewDecisionLink>

/** The code of a link: 32 random bytes. */
const code = z.string().regex(/^[\w-]{43}$/, 'not the code of a link')

export const LinkCode = z.strictObject({ code })
export type LinkCode = z.infer<typeof LinkCode>

/** The data of a link that its holder sees. */
export const LinkedRequest = DecisionLink.pick({
  linkId: true,
  name: true,
  decisions: true,
  createdAt: true,
  expiresAt: true,
}).extend({
  createdBy: z.string().meta({ description: 'The name of the person who created the link' }),
  session: z.object({ title: z.string(), cwd: z.string(), agent: z.string() }),
  request: OpenPermissionRequest,
})
export type LinkedRequest = z.infer<typeof LinkedRequest>

export const DecisionByLink = z.strictObject({
  code,
  decision: LinkDecision,
  inputHash: z.string().meta({ description: 'The hash of the request that was shown' }),
})
export type DecisionByLink = z.infer<typeof DecisionByLink>

/**
 * The reason why a link does not work, in `details.reason` of the error `conflict`.
 * - used, expired, revoked: the link was used or revoked, or has expired.
 * - resolved: the request was answered or withdrawn, or its session was deleted.
 * - changed: the request has another input than the one that the link is for.
 * - rights: the person, browser or token that created the link may no longer decide this request.
 * - off: the server accepts no decisions by links.
 */
export const LinkProblem = z.enum(['used', 'expired', 'revoked', 'resolved', 'changed', 'rights', 'off'])
export type LinkProblem = z.infer<typeof LinkProblem>
