import type { AlertStore, NewDelivery, TargetRecord } from '../core/alert-store.ts'
import { createPresence } from './sqlite-alerts.ts'

type Kept = NewDelivery & {
  attempts: number
  nextAt: number
  claimedUntil: number
  doneAt?: number
  sent: boolean
}

type Logs = ReadonlyMap<
  string,
  { readonly epoch: string; readonly events: readonly string[]; readonly state: { updatedAt: number } }
>

/** Alerts in memory. `forget` deletes the cursor and the deliveries of a session. */
export function createMemoryAlerts(logs: Logs): {
  readonly methods: AlertStore
  readonly forget: (sessionId: string) => void
  /** Deletes the alerts of a session that are not sent yet. */
  readonly forgetUnsent: (sessionId: string) => void
} {
  const targets = new Map<string, TargetRecord>()
  const cursors = new Map<string, number>()
  let deliveries: Kept[] = []
  let key: string | undefined
  const methods: AlertStore = {
    targets: async () => structuredClone([...targets.values()]),
    async putTarget(target) {
      const last = targets.get(target.id)?.last ?? target.last
      targets.set(target.id, structuredClone({ ...target, ...(last && { last }) }))
    },
    async removeTarget(id) {
      deliveries = deliveries.filter(({ target }) => target !== id)
      return targets.delete(id)
    },
    async noteTarget(id, last) {
      const target = targets.get(id)
      if (target) targets.set(id, { ...target, last: structuredClone(last) })
    },
    alertCursor: async (sessionId) => cursors.get(sessionId),
    async addAlerts({ session, from, to, epoch, deliveries: added }) {
      if (cursors.get(session) !== from) return false
      if (epoch !== undefined && logs.get(session)?.epoch !== epoch) return false
      cursors.set(session, to)
      for (const one of added) {
        const isKnown = deliveries.some(({ target, alert }) => target === one.target && alert === one.alert)
        if (!isKnown && targets.has(one.target))
          deliveries.push({ ...one, attempts: 0, claimedUntil: 0, sent: false })
      }
      return true
    },
    sessionsToSearch: async (since) =>
      [...logs]
        .filter(
          ([id, { events, state }]) => state.updatedAt > since && events.length > (cursors.get(id) ?? 0),
        )
        .map(([id]) => id),
    ...deliveryMethods(() => deliveries),
    async pruneDeliveries(before) {
      deliveries = deliveries.filter(
        ({ doneAt = Number.POSITIVE_INFINITY, expiresAt }) => doneAt >= before && expiresAt >= before,
      )
    },
    ...createPresence(),
    async pushKey(make) {
      key ??= make()
      return key
    },
  }
  const forget = (sessionId: string) => {
    cursors.delete(sessionId)
    deliveries = deliveries.filter(({ session }) => session !== sessionId)
  }
  const forgetUnsent = (sessionId: string) => {
    deliveries = deliveries.filter(({ session, doneAt }) => session !== sessionId || doneAt !== undefined)
  }
  return { methods, forget, forgetUnsent }
}

type DeliveryMethods = Pick<
  AlertStore,
  'claimDeliveries' | 'releaseDeliveries' | 'settleDelivery' | 'nextDelivery'
>

/** `all` returns the deliveries in the order in which they were added. */
function deliveryMethods(all: () => readonly Kept[]): DeliveryMethods {
  const siblings = (one: Kept) =>
    all().filter(({ target, subject }) => target === one.target && subject === one.subject)
  const earlier = (one: Kept) => siblings(one).slice(0, siblings(one).indexOf(one))
  const isWaiting = (one: Kept) =>
    one.doneAt === undefined && earlier(one).every(({ doneAt }) => doneAt !== undefined)
  const dueAt = ({ nextAt, claimedUntil }: Kept) => Math.max(nextAt, claimedUntil)
  return {
    async claimDeliveries({ now, until, limit }) {
      const due = all().filter((one) => isWaiting(one) && dueAt(one) <= now)
      return due
        .sort((a, b) => a.nextAt - b.nextAt)
        .slice(0, limit)
        .map((one) => {
          one.claimedUntil = until
          one.attempts++
          const { target, alert, subject, body, expiresAt, attempts } = one
          return {
            ...{ target, alert, subject, body, expiresAt, attempts },
            isSuperseded: siblings(one).at(-1) !== one,
            followsSent: earlier(one).some(({ sent }) => sent),
          }
        })
    },
    async releaseDeliveries() {
      for (const one of all()) one.claimedUntil = 0
    },
    async settleDelivery(target, alert, outcome) {
      const one = all().find((other) => other.target === target && other.alert === alert)
      if (!one || one.doneAt !== undefined) return
      one.claimedUntil = 0
      if (outcome.done) Object.assign(one, { doneAt: outcome.at, sent: outcome.sent, body: '' })
      else Object.assign(one, { nextAt: outcome.nextAt, attempts: outcome.attempts })
    },
    async nextDelivery() {
      const times = all().filter(isWaiting).map(dueAt)
      return times.length > 0 ? Math.min(...times) : undefined
    },
  }
}
