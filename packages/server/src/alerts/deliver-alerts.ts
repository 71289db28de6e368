import { defined } from '@parley/protocol'
import type { ClaimedDelivery } from '../core/alert-store.ts'
import { type DeriveParts, mayLearn } from './derive-alerts.ts'
import type { Alert } from './find-alerts.ts'
import { messageAbout } from './message.ts'
import { type SendParts, type SendResult, send } from './send.ts'
import { isForPerson, type KnownTarget } from './target-data.ts'
import { isShownInPage } from './visible-pages.ts'

export type DeliverParts = SendParts &
  Pick<DeriveParts, 'targets' | 'principalOf' | 'waitMs' | 'store'> & {
    /** The address of the console. */
    readonly url: () => string
    readonly random: () => number
    /** The end of the pause that a target has requested, by the id of the target. */
    readonly paused: Map<string, number>
    /** Removes a target that no longer exists, or disables it if it is not a browser. */
    readonly gone: (target: KnownTarget) => Promise<void>
  }

const minuteMs = 60_000
const hourMs = 60 * minuteMs
/** The waits before the further attempts, as Standard Webhooks recommends. */
const retryWaitsMs = [5_000, 5 * minuteMs, 30 * minuteMs, ...[2, 5, 10, 14, 20, 24].map((n) => n * hourMs)]
/** The maximum share of its wait by which a retry is delayed at random, so that many retries do not coincide. */
const jitter = 0.2
const longestRetryAfterMs = 24 * hourMs

/** Sends a claimed delivery, or drops it if nobody needs it any more, and stores the outcome. */
export async function deliver(parts: DeliverParts, claimed: ClaimedDelivery): Promise<void> {
  const { store, now } = parts
  const { target: targetId, alert: alertId, attempts } = claimed
  const done = (sent: boolean) => store.settleDelivery(targetId, alertId, { done: true, sent, at: now() })
  const target = parts.targets().find(({ id }) => id === targetId)
  const principal = target && (await parts.principalOf(target.data.holder))
  const isWanted = principal && mayLearn(principal, target.data) && target.data.disabledAt === undefined
  if (!target || !isWanted || claimed.expiresAt <= now()) return done(attempts > 1)
  const alert = JSON.parse(claimed.body) as Alert
  const verdict = await verdictOn(parts, target, alert, claimed)
  // After an earlier attempt, the delivery counts as sent, because that attempt may have reached the target.
  if (verdict === 'drop') return done(attempts > 1)
  const until = verdict === 'wait' ? now() + parts.waitMs : (parts.paused.get(targetId) ?? 0)
  if (until > now())
    return store.settleDelivery(targetId, alertId, { done: false, nextAt: until, attempts: attempts - 1 })
  const message = messageAbout(alert, target.data.detail, parts.url())
  const result = await send(parts, target.data, { ...message, expiresAt: claimed.expiresAt })
  await note(parts, target, result)
  if (result.ok) return done(true)
  if (result.ends === 'gone') {
    await done(true)
    return parts.gone(target)
  }
  const wait = waitAfter(result, attempts, parts.random)
  if (wait === undefined || now() + wait >= claimed.expiresAt) return done(true)
  if (result.retryAfterMs !== undefined) parts.paused.set(targetId, now() + wait)
  await store.settleDelivery(targetId, alertId, { done: false, nextAt: now() + wait, attempts })
}

/** Stores the result of an attempt, which people see with the target. */
export async function note(
  { store, now }: Pick<DeliverParts, 'store' | 'now'>,
  { id }: Pick<KnownTarget, 'id'>,
  { ok, status, error }: SendResult,
): Promise<void> {
  await store.noteTarget(id, { at: now(), ok, ...defined({ status, error: error?.slice(0, 300) }) })
}

/** Decides whether an alert for a person is sent now, later or never. A webhook gets every alert. */
async function verdictOn(
  parts: DeliverParts,
  { data }: KnownTarget,
  alert: Alert,
  { isSuperseded, followsSent }: ClaimedDelivery,
): Promise<'send' | 'wait' | 'drop'> {
  if (!isForPerson(data)) return 'send'
  if (alert.kind === 'request.resolved') return followsSent ? 'send' : 'drop'
  if (isSuperseded) return 'drop'
  if (!(await isShownInPage(parts, data.personId, alert))) return 'send'
  return alert.kind === 'request.waiting' ? 'wait' : 'drop'
}

/** The wait before the next attempt; undefined if there is none. */
function waitAfter(
  { ends, retryAfterMs = 0 }: SendResult,
  attempts: number,
  random: () => number,
): number | undefined {
  const wait = retryWaitsMs[attempts - 1]
  if (ends === 'never' || wait === undefined) return undefined
  return Math.max(wait * (1 + jitter * random()), Math.min(retryAfterMs, longestRetryAfterMs))
}
