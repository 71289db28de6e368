import { allScopes, type NewTarget } from '@parley/protocol'
import type { Principal } from '../access/index.ts'
import type { ClaimedDelivery } from '../core/alert-store.ts'
import { type HostUnderTest, type HostUnderTestOptions, hostUnderTest } from '../core/host-under-test.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { deliver } from './deliver-alerts.ts'
import { deriveAlerts } from './derive-alerts.ts'
import { createSafeRequest } from './safe-request.ts'
import { type KnownTarget, knownTarget } from './target-data.ts'
import { createTargets, type Targets } from './targets.ts'
import { newPushKey, pushKeyOf } from './web-push.ts'

export const waitMs = 10_000

export const owner: Principal = {
  person: { id: 'per_owner', name: 'Ada' },
  kind: 'device',
  id: 'dev_1',
  name: 'Chrome on Linux',
  scopes: new Set(allScopes),
}

/** A host with alerts that are derived and sent only on request of the test. All requests go to loopback. */
export async function alertsUnderTest(
  options: Omit<HostUnderTestOptions, 'store'> & { readonly pushServices?: readonly string[] } = {},
) {
  const store = createMemoryStore()
  const world: HostUnderTest = await hostUnderTest({ ...options, store })
  const principals = new Map<string, Principal>([[owner.id, owner]])
  let targets: readonly KnownTarget[] = []
  const refresh = async () => {
    targets = (await store.targets()).map(knownTarget).filter((target) => target !== undefined)
  }
  const key = pushKeyOf(newPushKey())
  const parts = {
    store,
    refresh,
    targets: () => targets,
    principalOf: async ({ id }: { id: string }) => principals.get(id),
    now: () => world.time.now(),
    waitMs,
    request: createSafeRequest(
      { privateTargets: true, pushServices: options.pushServices },
      { timeoutMs: 2_000 },
    ),
    pushKey: async () => key,
    ledgerHead: async () => ({ n: 7, hash: 'hash-of-7' }),
    contact: () => 'mailto:me@example.org',
    url: () => 'https://parley.example/sub',
    random: () => 0,
    paused: new Map<string, number>(),
    gone: async ({ id, data }: KnownTarget) => {
      if (data.kind === 'push') await store.removeTarget(id)
      else await store.putTarget({ id, createdAt: 0, data: { ...data, disabledAt: 1 } })
      await refresh()
    },
    claimMs: 30_000,
    lookEveryMs: undefined,
    problem: (error: unknown) => {
      throw error
    },
  }
  const book: Targets = createTargets(parts)
  const claim = (): Promise<ClaimedDelivery[]> =>
    store.claimDeliveries({ now: world.time.now(), until: world.time.now() + 30_000, limit: 100 })
  return {
    ...{ world, store, principals, targets: book, parts, claim },
    async add(given: NewTarget, by: Principal = owner) {
      principals.set(by.id, by)
      const target = await book.add(by, given)
      // Events in the same millisecond as the addition of a target cause no alerts.
      world.time.advance(1)
      return target
    },
    derive: (sessionId: string) => deriveAlerts(parts, sessionId),
    /** Sends everything that is due now, until nothing is due any more. */
    async send(): Promise<void> {
      for (let due = await claim(); due.length > 0; due = await claim())
        for (const one of due) await deliver(parts, one)
    },
    /** The alerts that wait, as [kind, due in ms]. */
    async waiting() {
      const now = world.time.now()
      const found: (readonly [string, number])[] = []
      world.time.advance(1)
      for (let ms = 0; ms <= 2 * waitMs; ms += waitMs) {
        const due = await store.claimDeliveries({ now: now + ms, until: now + 9 * waitMs, limit: 100 })
        for (const { body } of due) found.push([(JSON.parse(body) as { kind: string }).kind, ms])
      }
      await store.releaseDeliveries()
      return found
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  }
}

export type AlertsUnderTest = Awaited<ReturnType<typeof alertsUnderTest>>
