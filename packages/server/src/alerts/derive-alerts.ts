import { holds, type Principal, permitsSession } from '../access/index.ts'
import type { AlertStore, NewDelivery } from '../core/alert-store.ts'
import type { SessionStore } from '../core/session-store.ts'
import type { Alert } from './find-alerts.ts'
import { searchLog } from './search-log.ts'
import { isForPerson, type KnownTarget, type TargetData } from './target-data.ts'

export type DeriveParts = {
  readonly store: Pick<SessionStore, 'load' | 'read'> & AlertStore
  readonly targets: () => readonly KnownTarget[]
  /** The principal of the device or token that added a target; undefined if it was revoked. */
  readonly principalOf: (holder: TargetData['holder']) => Promise<Principal | undefined>
  readonly now: () => number
  /** The time that an alert for a person waits: the person may see it in the console first. */
  readonly waitMs: number
}

const dayMs = 24 * 3600_000
/** In a log that was never searched, only events of this last period cause alerts. */
const longestMissedMs = dayMs
/**
 * The time for which the delivery of an alert is attempted. A push service keeps a message for the rest of this time.
 */
const lifetimesMs = { push: dayMs, ntfy: dayMs, webhook: 4 * dayMs }

/**
 * Searches the log of a session from its cursor on, and stores a delivery for each target. Returns false if another
 * process has moved the cursor meanwhile, or if an event was redacted.
 */
export async function deriveAlerts(parts: DeriveParts, sessionId: string): Promise<boolean> {
  const { store, targets, now } = parts
  const [from, record] = await Promise.all([store.alertCursor(sessionId), store.load(sessionId)])
  if (!record || record.head === from) return true
  const oldest = Math.min(...targets().map(({ createdAt }) => createdAt))
  const since = Math.max(oldest, now() - longestMissedMs)
  const { alerts, to } = await searchLog(store, record, { from, since })
  const { id, cwd, agent } = record.state
  const facts = { id, cwd, agent, place: record.place }
  const deliveries: NewDelivery[] = []
  if (alerts.length > 0)
    for (const target of targets()) {
      const principal = await parts.principalOf(target.data.holder)
      if (!principal || !mayLearn(principal, target.data)) continue
      if (!permitsSession(principal.limits, facts)) continue
      deliveries.push(...deliveriesTo(target, alerts, parts))
    }
  return store.addAlerts({ session: sessionId, from, to, epoch: record.epoch, deliveries })
}

/** True if a target may still get alerts. A webhook needs the scope with which it was added. */
export function mayLearn(principal: Principal, { kind }: TargetData): boolean {
  return holds(principal, 'read') && (kind === 'push' || holds(principal, 'admin'))
}

function deliveriesTo(
  { id, createdAt, data }: KnownTarget,
  alerts: readonly Alert[],
  { now, waitMs }: DeriveParts,
): NewDelivery[] {
  if (data.disabledAt !== undefined) return []
  return alerts.flatMap((alert) => {
    const expiresAt = alert.at + lifetimesMs[data.kind]
    if (alert.at <= createdAt || expiresAt <= now() || !wants(data, alert)) return []
    const { id: alertId, session, subject } = alert
    // A resolved request needs no answer, so its alert is replaced at once.
    const isUrgent = !isForPerson(data) || alert.kind === 'request.resolved'
    const nextAt = isUrgent ? now() : alert.at + waitMs
    const body = JSON.stringify(alert)
    return { target: id, alert: alertId, session: session.id, subject, body, nextAt, expiresAt }
  })
}

function wants({ alerts, kind }: TargetData, { kind: what, outcome }: Alert): boolean {
  // People get no alert about a turn that a person cancelled.
  if (what === 'turn.ended' && outcome === 'cancelled' && kind !== 'webhook') return false
  // The alert about an answer replaces the alert about its request.
  if (what === 'request.resolved' && kind !== 'webhook') return alerts.includes('request.waiting')
  return alerts.includes(what)
}
