import { emptyState, newId } from '@parley/protocol'
import type { AlertStore, NewDelivery, TargetRecord } from '../core/alert-store.ts'
import type { SessionStore } from '../core/session-store.ts'
import { afterEach, beforeEach, describe, expect, it } from './peers.ts'

type Store = AlertStore & SessionStore

export type AlertStoreUnderTest = {
  readonly store: Store
  /** Closes the store and opens it again. A store that cannot be reopened gives the reason in `notDurable`. */
  readonly reopen?: () => Promise<Store>
  readonly notDurable?: string
  cleanup(): Promise<void>
}

/** Tests every rule of the port `AlertStore`, for any store. */
export function alertStoreContract(name: string, open: () => Promise<AlertStoreUnderTest>): void {
  describe(`${name} satisfies the contract of an alert store`, () => {
    let tested: AlertStoreUnderTest
    let store: Store
    const setup = { get: () => store, tested: () => tested }
    beforeEach(async () => {
      tested = await open()
      store = tested.store
    })
    afterEach(() => tested.cleanup())
    targetCases(setup)
    searchCases(setup)
    redactionCases(setup)
    claimCases(setup)
    outcomeCases(setup)
    presenceCases(setup)
  })
}

type Setup = { readonly get: () => Store; readonly tested: () => AlertStoreUnderTest }

function targetCases({ get, tested }: Setup): void {
  it('keeps targets in the order in which they were added, each with all its fields', async () => {
    const store = get()
    const targets = [targetOf('b'), targetOf('a', { last: { ok: true } }), targetOf('"; --é\n')]
    for (const target of targets) await store.putTarget(target)
    expect(await store.targets()).toEqual(targets)
    await store.putTarget(targetOf('b', { data: { name: 'new', list: [1, { deep: null }] } }))
    await store.noteTarget('b', { ok: false, status: 500 })
    await store.noteTarget('missing', { ok: false })
    const [b, ...rest] = await store.targets()
    expect(b).toEqual({
      ...targetOf('b'),
      data: { name: 'new', list: [1, { deep: null }] },
      last: { ok: false, status: 500 },
    })
    expect(rest).toEqual(targets.slice(1))
  })

  it('removes a target once, with its deliveries', async () => {
    const store = get()
    await store.putTarget(targetOf('a'))
    await store.addAlerts({ session: 'ses_1', from: undefined, to: 3, deliveries: [deliveryOf(1)] })
    expect(await store.removeTarget('a')).toBe(true)
    expect(await store.removeTarget('a')).toBe(false)
    expect(await store.targets()).toEqual([])
    expect(await store.nextDelivery()).toBeUndefined()
  })

  it('keeps targets, cursors, deliveries and the key when it is reopened, or states why it cannot be reopened', async () => {
    const store = get()
    await store.putTarget(targetOf('a'))
    await store.addAlerts({ session: 'ses_1', from: undefined, to: 3, deliveries: [deliveryOf(1)] })
    expect(await store.pushKey(() => 'first')).toBe('first')
    const { reopen, notDurable } = tested()
    if (!reopen) return expect(notDurable).toMatch(/\w/)
    const again = await reopen()
    expect(await again.targets()).toEqual([targetOf('a')])
    expect(await again.alertCursor('ses_1')).toBe(3)
    expect(await again.nextDelivery()).toBe(1001)
    expect(await again.pushKey(() => 'second')).toBe('first')
  })
}

function searchCases({ get }: Setup): void {
  it('moves a cursor once, and adds deliveries only if it has moved the cursor', async () => {
    const store = get()
    await store.putTarget(targetOf('a'))
    expect(await store.alertCursor('ses_1')).toBeUndefined()
    const step = (from: number | undefined, to: number, n: number) =>
      store.addAlerts({ session: 'ses_1', from, to, deliveries: [deliveryOf(n)] })
    const first = await Promise.all([step(undefined, 3, 1), step(undefined, 3, 2)])
    expect(first.filter(Boolean)).toHaveLength(1)
    expect(await store.alertCursor('ses_1')).toBe(3)
    expect(await step(2, 5, 3)).toBe(false)
    expect(await step(3, 5, 4)).toBe(true)
    expect(await store.alertCursor('ses_1')).toBe(5)
    const claimed = await store.claimDeliveries({ now: 9000, until: 10_000, limit: 10 })
    expect(claimed.map(({ alert }) => alert)).toEqual([first[0] ? 'ses_1:1' : 'ses_1:2', 'ses_1:4'])
  })

  it('gives a target each alert once, and an unknown target none', async () => {
    const store = get()
    await store.putTarget(targetOf('a'))
    const deliveries = [deliveryOf(1), deliveryOf(1), deliveryOf(1, { target: 'missing' })]
    await store.addAlerts({ session: 'ses_1', from: undefined, to: 3, deliveries })
    await store.addAlerts({ session: 'ses_1', from: 3, to: 4, deliveries })
    expect(await store.claimDeliveries({ now: 9000, until: 10_000, limit: 10 })).toHaveLength(1)
  })

  it('lists the sessions whose log continues after their cursor, until they were searched', async () => {
    const store = get()
    const [a, b] = [await created(store, 1000), await created(store, 2000)]
    expect(await store.sessionsToSearch(1000)).toEqual([b])
    expect((await store.sessionsToSearch(0)).sort()).toEqual([a, b].sort())
    await store.addAlerts({ session: a, from: undefined, to: 1, deliveries: [] })
    expect(await store.sessionsToSearch(0)).toEqual([b])
    await store.append({ sessionId: a, events: [eventOf(2)] })
    expect((await store.sessionsToSearch(0)).sort()).toEqual([a, b].sort())
  })

  it('deletes the cursor and the deliveries of a session with the session', async () => {
    const store = get()
    await store.putTarget(targetOf('a'))
    const id = await created(store, 1000)
    const deliveries = [deliveryOf(1, { session: id }), deliveryOf(2, { session: 'another' })]
    await store.addAlerts({ session: id, from: undefined, to: 1, deliveries: deliveries.slice(0, 1) })
    await store.addAlerts({ session: 'another', from: undefined, to: 1, deliveries: deliveries.slice(1) })
    await store.delete(id)
    expect(await store.alertCursor(id)).toBeUndefined()
    const claimed = await store.claimDeliveries({ now: 9000, until: 10_000, limit: 10 })
    expect(claimed.map(({ alert }) => alert)).toEqual([deliveries[1]?.alert])
  })
}

function redactionCases({ get }: Setup): void {
  it('adds no alerts that were found before an event of the session was redacted', async () => {
    const store = get()
    const id = await created(store, 1)
    await store.putTarget(targetOf('a'))
    const found = (epoch: string) =>
      store.addAlerts({
        ...{ session: id, from: undefined, to: 1, epoch },
        deliveries: [deliveryOf(1, { session: id, alert: `${id}:1` })],
      })
    const state = emptyState(id, 'epo_2')
    await store.redact({ sessionId: id, events: [eventOf(1)], epoch: 'epo_2', state })
    expect(await found('epo_1')).toBe(false)
    expect(await store.alertCursor(id)).toBeUndefined()
    expect(await store.claimDeliveries({ now: 9000, until: 10_000, limit: 10 })).toEqual([])
    expect(await found('epo_2')).toBe(true)
    expect(await store.claimDeliveries({ now: 9000, until: 10_000, limit: 10 })).toHaveLength(1)
  })

  it('removes the alerts of a session that are not sent yet when one of its events is redacted', async () => {
    const store = get()
    const [id, other] = [await created(store, 1), await created(store, 2)]
    await store.putTarget(targetOf('a'))
    const alerts = [id, other].map((session) => deliveryOf(1, { session, alert: `${session}:1` }))
    for (const alert of alerts)
      await store.addAlerts({ session: alert.session, from: undefined, to: 1, deliveries: [alert] })
    const state = emptyState(id, 'epo_2')
    await store.redact({ sessionId: id, events: [eventOf(1)], epoch: 'epo_2', state })
    const claimed = await store.claimDeliveries({ now: 9000, until: 10_000, limit: 10 })
    expect(claimed.map(({ alert }) => alert)).toEqual([alerts[1]?.alert])
  })
}

/** Returns a function that adds deliveries of a session to the targets a and b. */
function adding({ get }: Setup) {
  return async (deliveries: readonly NewDelivery[]) => {
    const store = get()
    for (const id of ['a', 'b']) await store.putTarget(targetOf(id))
    await store.addAlerts({ session: 'ses_1', from: undefined, to: 9, deliveries })
    return store
  }
}

function claimCases(setup: Setup): void {
  const add = adding(setup)

  it('gives a due delivery to one caller, until the claim ends', async () => {
    const store = await add([1, 2, 3].map((n) => deliveryOf(n)))
    expect(await store.nextDelivery()).toBe(1001)
    expect(await store.claimDeliveries({ now: 1000, until: 2000, limit: 9 })).toEqual([])
    const claims = await Promise.all(
      [1, 2, 3, 4].map(() => store.claimDeliveries({ now: 1002, until: 2000, limit: 1 })),
    )
    expect(
      claims
        .flat()
        .map(({ alert }) => alert)
        .sort(),
    ).toEqual(['ses_1:1', 'ses_1:2'])
    expect(await store.nextDelivery()).toBe(1003)
    const later = await store.claimDeliveries({ now: 2000, until: 3000, limit: 9 })
    expect(later.map(({ alert, attempts }) => [alert, attempts])).toEqual([
      ['ses_1:1', 2],
      ['ses_1:2', 2],
      ['ses_1:3', 1],
    ])
    await store.releaseDeliveries()
    expect(await store.claimDeliveries({ now: 2000, until: 3000, limit: 9 })).toHaveLength(3)
  })

  it('returns the text of a delivery unchanged, for any content', async () => {
    const body = JSON.stringify({ text: 'é \u0000 "\\ \ud800' })
    const store = await add([deliveryOf(1, { body })])
    expect(await store.claimDeliveries({ now: 9000, until: 9001, limit: 1 })).toEqual([
      {
        ...{ target: 'a', alert: 'ses_1:1', subject: 'subject 1', body, expiresAt: 100_000 },
        ...{ attempts: 1, isSuperseded: false, followsSent: false },
      },
    ])
  })

  it('sends deliveries to a target about one subject one after another', async () => {
    const subject = 'req_1'
    const store = await add([
      deliveryOf(1, { subject }),
      deliveryOf(2, { subject }),
      deliveryOf(2, { subject, target: 'b' }),
    ])
    const claim = async (now: number) =>
      (await store.claimDeliveries({ now, until: now + 1000, limit: 9 })).map((one) => [
        ...[one.target, one.alert, one.isSuperseded, one.followsSent],
      ])
    expect(await claim(2000)).toEqual([
      ['a', 'ses_1:1', true, false],
      ['b', 'ses_1:2', false, false],
    ])
    await store.settleDelivery('a', 'ses_1:1', { done: false, nextAt: 2100, attempts: 1 })
    expect(await store.nextDelivery()).toBe(2100)
    expect(await claim(2050)).toEqual([])
    expect(await claim(2100)).toEqual([['a', 'ses_1:1', true, false]])
    await store.settleDelivery('a', 'ses_1:1', { done: true, sent: true, at: 2200 })
    expect(await claim(2200)).toEqual([['a', 'ses_1:2', false, true]])
  })
}

function outcomeCases(setup: Setup): void {
  const add = adding(setup)

  it('never returns a delivery that is done, even if it is settled twice', async () => {
    const store = await add([deliveryOf(1)])
    await store.claimDeliveries({ now: 2000, until: 3000, limit: 9 })
    await store.settleDelivery('a', 'ses_1:1', { done: true, sent: false, at: 2000 })
    await store.settleDelivery('a', 'ses_1:1', { done: false, nextAt: 0, attempts: 1 })
    expect(await store.nextDelivery()).toBeUndefined()
    expect(await store.claimDeliveries({ now: 9000, until: 9001, limit: 9 })).toEqual([])
  })

  it('deletes old deliveries', async () => {
    const store = await add([deliveryOf(1), deliveryOf(2, { expiresAt: 3000 }), deliveryOf(3)])
    await store.settleDelivery('a', 'ses_1:1', { done: true, sent: true, at: 2000 })
    await store.pruneDeliveries(4000)
    const claimed = await store.claimDeliveries({ now: 9000, until: 9001, limit: 9 })
    expect(claimed.map(({ alert }) => alert)).toEqual(['ses_1:3'])
  })
}

function presenceCases({ get }: Setup): void {
  it('reports whether a person has a visible page', async () => {
    const store = get()
    await store.setPresence('page 1', 'per_a', 2000)
    await store.setPresence('page 2', 'per_a', 3000)
    const pages = async (personId: string, now: number) => (await store.visiblePages(personId, now)).sort()
    expect(await pages('per_a', 1000)).toEqual(['page 1', 'page 2'])
    expect(await pages('per_b', 1000)).toEqual([])
    await store.setPresence('page 2', 'per_a', undefined)
    expect(await pages('per_a', 1999)).toEqual(['page 1'])
    expect(await pages('per_a', 2000)).toEqual([])
    await store.setPresence('page 1', 'per_a', 5000)
    expect(await pages('per_a', 2000)).toEqual(['page 1'])
  })
}

function targetOf(id: string, changes: Partial<TargetRecord> = {}): TargetRecord {
  return { id, data: { name: 'é\n\0' }, createdAt: 1, ...changes }
}

function deliveryOf(n: number, changes: Partial<NewDelivery> = {}): NewDelivery {
  return {
    ...{ target: 'a', alert: `ses_1:${n}`, session: 'ses_1', subject: `subject ${n}`, body: '{}' },
    ...{ nextAt: 1000 + n, expiresAt: 100_000 },
    ...changes,
  }
}

function eventOf(seq: number) {
  return { seq, json: JSON.stringify({ seq, at: 1, sessionId: 's', type: 'queue.resumed' }) }
}

async function created(store: Store, updatedAt: number): Promise<string> {
  const id = newId('ses')
  const state = { ...emptyState(id, 'epo_1'), seq: 1, agent: 'demo', cwd: '/tmp', updatedAt }
  await store.create({ sessionId: id, epoch: 'epo_1', events: [eventOf(1)], state })
  return id
}
