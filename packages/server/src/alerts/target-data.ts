import {
  AlertDetail,
  AlertKind,
  defined,
  LastDelivery,
  PushSubscriptionKeys,
  type Target,
  TargetKind,
} from '@parley/protocol'
import { z } from 'zod'
import type { TargetRecord } from '../core/alert-store.ts'

/** The data of a target's record. `url` and `secret` are never shown. */
export const TargetData = z.object({
  kind: TargetKind,
  name: z.string(),
  personId: z.string(),
  /**
   * The device or the token that added the target. The target gets alerts only about sessions that this device or token
   * may read.
   */
  holder: z.object({ kind: z.enum(['device', 'token']), id: z.string() }),
  url: z.string(),
  keys: PushSubscriptionKeys.optional(),
  /** The key that signs the requests to a webhook, or the access token of an ntfy server. */
  secret: z.string().optional(),
  alerts: z.array(AlertKind),
  detail: AlertDetail,
  disabledAt: z.number().optional(),
})
export type TargetData = z.infer<typeof TargetData>

/** A target with checked data. */
export type KnownTarget = { readonly id: string; readonly createdAt: number; readonly data: TargetData }

/** Undefined if the data is damaged: such a target gets no alerts. */
export function knownTarget({ id, createdAt, data }: TargetRecord): KnownTarget | undefined {
  const parsed = TargetData.safeParse(data).data
  return parsed && { id, createdAt, data: parsed }
}

export function shownTarget({ id, createdAt, data }: KnownTarget, last?: unknown): Target {
  const { kind, name, personId, url, alerts, detail, disabledAt } = data
  const { origin, pathname } = new URL(url)
  return {
    targetId: id,
    ...{ kind, name, personId, alerts, detail, createdAt },
    address: kind === 'push' ? origin : `${origin}${pathname}`,
    ...defined({ disabledAt, last: LastDelivery.safeParse(last).data }),
  }
}

/** True if the target notifies a person, who may already be looking at the console. A webhook notifies a program. */
export function isForPerson({ kind }: TargetData): boolean {
  return kind !== 'webhook'
}
