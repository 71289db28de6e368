import { z } from 'zod'
import { PersonId, SessionId, TargetId } from './ids.ts'
import { taggedUnion } from './tagged-union.ts'

/**
 * The kinds of alerts.
 * - request.waiting: a permission or a question waits for a person.
 * - request.resolved: such a request was answered, or is no longer needed.
 * - turn.ended: a turn was completed or cancelled.
 * - turn.failed: a turn failed, or its outcome is unknown.
 */
export const AlertKind = z.enum(['request.waiting', 'request.resolved', 'turn.ended', 'turn.failed'])
export type AlertKind = z.infer<typeof AlertKind>

/**
 * The detail of a target, which limits the content of its alerts. none: only that something happened. title: the title
 * of the session, and the tool. full: also the command, the questions or the error.
 */
export const AlertDetail = z.enum(['none', 'title', 'full'])
export type AlertDetail = z.infer<typeof AlertDetail>

export const TargetKind = z.enum(['push', 'webhook', 'ntfy'])
export type TargetKind = z.infer<typeof TargetKind>

const Kinds = z.array(AlertKind).min(1).max(AlertKind.options.length)
const Name = z.string().trim().min(1).max(100)
const Address = z.string().min(1).max(2048)
const Key = z.string().min(1).max(200).meta({ description: 'base64url' })

/** The last attempt to send an alert to a target. */
export const LastDelivery = z.object({
  at: z.number(),
  ok: z.boolean(),
  status: z.int().optional().meta({ description: 'The HTTP status of the answer, if there was one' }),
  error: z.string().optional(),
})
export type LastDelivery = z.infer<typeof LastDelivery>

/** A recipient of alerts: a browser, a webhook or a topic of an ntfy server. */
export const Target = z.object({
  targetId: TargetId,
  kind: TargetKind,
  name: z.string(),
  personId: PersonId,
  address: z.string().meta({
    description: 'The URL; of a browser, only the origin of its push service, because the URL is a secret',
  }),
  alerts: Kinds,
  detail: AlertDetail,
  createdAt: z.number(),
  disabledAt: z.number().optional(),
  last: LastDelivery.optional(),
  current: z.literal(true).optional().meta({ description: 'Set for the browser that sent the request' }),
})
export type Target = z.infer<typeof Target>

const settings = {
  name: Name.optional(),
  alerts: Kinds.optional().meta({ description: 'The kinds of alerts; by default, all of them' }),
  detail: AlertDetail.optional().meta({ description: 'The default is title' }),
}

/** The subscription of a browser, as its PushManager returns it. */
export const PushSubscriptionKeys = z.strictObject({ p256dh: Key, auth: Key })

export const NewTarget = taggedUnion('kind', [
  z.strictObject({ kind: z.literal('push'), endpoint: Address, keys: PushSubscriptionKeys, ...settings }),
  z.strictObject({ kind: z.literal('webhook'), url: Address, ...settings }),
  z.strictObject({
    kind: z.literal('ntfy'),
    url: Address.meta({ description: 'The URL of the topic, e.g. https://ntfy.example.org/parley' }),
    token: z.string().min(1).max(500).optional().meta({ description: 'An access token of the ntfy server' }),
    ...settings,
  }),
])
export type NewTarget = z.infer<typeof NewTarget>

export const TargetPatch = z.strictObject({ ...settings, disabled: z.boolean().optional() })
export type TargetPatch = z.infer<typeof TargetPatch>

/** The body of a webhook, by the Standard Webhooks specification. Its header `webhook-id` has the same value as `id`. */
export const WebhookBody = z.object({
  type: z.union([AlertKind, z.literal('test')]),
  timestamp: z.string().meta({ description: 'The time of the event, in ISO 8601' }),
  data: z.object({
    id: z.string().meta({ description: '<session>:<seq>; the same for every attempt' }),
    session: z
      .object({ id: SessionId, title: z.string().optional(), agent: z.string().optional() })
      .optional(),
    requestId: z.string().optional(),
    turnId: z.string().optional(),
    title: z.string(),
    text: z.string().optional().meta({ description: 'Present only with the detail full' }),
    outcome: z.string().optional(),
    link: z.string(),
    ledger: z
      .object({ n: z.int(), hash: z.string() })
      .optional()
      .meta({ description: 'The last entry of the ledger, for parley verify --head <n>:<hash>' }),
  }),
})
export type WebhookBody = z.infer<typeof WebhookBody>
