import { emptyState } from '@parley/protocol'
import type { DecisionLinkRecord, DecisionLinkStore } from '../core/decision-link-store.ts'
import type { SessionStore } from '../core/session-store.ts'
import { afterEach, beforeEach, describe, expect, it } from './peers.ts'

type Store = SessionStore & DecisionLinkStore

export type DecisionLinkStoreUnderTest = {
  readonly store: Store
  /** Closes the store and opens it again. A store that cannot be reopened gives the reason in `notDurable`. */
  readonly reopen?: () => Promise<Store>
  readonly notDurable?: string
  cleanup(): Promise<void>
}

/** Tests every rule of the port `DecisionLinkStore`, for any store. */
export function decisionLinkStoreContract(
  name: string,
  open: () => Promise<DecisionLinkStoreUnderTest>,
): void {
  describe(`${name} satisfies the contract of a store of decision links`, () => {
    let tested: DecisionLinkStoreUnderTest
    let store: Store
    beforeEach(async () => {
      tested = await open()
      store = tested.store
    })
    afterEach(() => tested.cleanup())
    keepingCases(() => store)
    deletionCases(() => store)
    useCases(() => store)

    it('keeps links when it is reopened, or states why it cannot be reopened', async () => {
      await store.addDecisionLink(linkOf('a'), 9)
      if (!tested.reopen) return expect(tested.notDurable).toMatch(/\w/)
      expect(await (await tested.reopen()).decisionLink('hash a')).toEqual(linkOf('a'))
    })
  })
}

type Tested = () => Store

function keepingCases(store: Tested): void {
  it('keeps links in the order in which they were added, each with all its fields', async () => {
    const awkward = '"; --é\n\0'
    const links = [
      linkOf('b'),
      linkOf(awkward, { session: awkward, request: awkward, inputHash: awkward, name: `${awkward}\ud800` }),
      linkOf('a', { decisions: ['allow', 'deny'] }),
    ]
    for (const link of links) expect(await store().addDecisionLink(link, 9)).toBe(true)
    expect(await store().unrevokedDecisionLinks(5)).toEqual(links)
    for (const link of links) expect(await store().decisionLink(link.hash)).toEqual(link)
    expect(await store().decisionLink('hash c')).toBeUndefined()
  })

  it('adds no more links of a request than the limit, even if links are added at once', async () => {
    const added = await Promise.all(
      Array.from({ length: 12 }, (_, n) => store().addDecisionLink(linkOf(`${n}`), 5)),
    )
    expect(added.filter(Boolean)).toHaveLength(5)
    expect(await store().unrevokedDecisionLinks(5)).toHaveLength(5)
    // Links that were used or revoked count too.
    const [first, second] = await store().unrevokedDecisionLinks(5)
    await store().useDecisionLink(first?.hash ?? '', 6)
    await store().revokeDecisionLink(second?.id ?? '', 6)
    expect(await store().addDecisionLink(linkOf('late'), 5)).toBe(false)
    expect(await store().addDecisionLink(linkOf('other', { request: 'req_other' }), 5)).toBe(true)
    expect(await store().addDecisionLink(linkOf('elsewhere', { session: 'ses_other' }), 5)).toBe(true)
  })

  it('lists used links, and none that is revoked or expired', async () => {
    for (const id of ['a', 'b', 'c', 'd']) await store().addDecisionLink(linkOf(id), 9)
    await store().addDecisionLink(linkOf('early', { expiresAt: 50 }), 9)
    await store().useDecisionLink('hash a', 6)
    await store().revokeDecisionLink('b', 6)
    const openIds = async (now: number) => (await store().unrevokedDecisionLinks(now)).map(({ id }) => id)
    expect(await openIds(49)).toEqual(['a', 'c', 'd', 'early'])
    expect(await openIds(50)).toEqual(['a', 'c', 'd'])
    expect(await openIds(100)).toEqual([])
  })

  it('shares no objects with its callers', async () => {
    const decisions: DecisionLinkRecord['decisions'][number][] = ['deny']
    await store().addDecisionLink(linkOf('a', { decisions }), 9)
    decisions.push('allow')
    const read = await store().decisionLink('hash a')
    Object.assign(read?.createdBy ?? {}, { personId: 'changed' })
    expect(await store().decisionLink('hash a')).toEqual(linkOf('a'))
  })
}

function deletionCases(store: Tested): void {
  it('deletes the links that expired before a time', async () => {
    await store().addDecisionLink(linkOf('a'), 9)
    await store().addDecisionLink(linkOf('b', { expiresAt: 50 }), 9)
    await store().pruneDecisionLinks(100)
    expect(await store().decisionLink('hash a')).toEqual(linkOf('a'))
    expect(await store().decisionLink('hash b')).toBeUndefined()
  })

  it('deletes the links of a session with the session, and no others', async () => {
    const state = emptyState('ses_a', 'epo_a')
    await store().create({ sessionId: 'ses_a', epoch: 'epo_a', state, events: [] })
    await store().addDecisionLink(linkOf('a'), 9)
    await store().addDecisionLink(linkOf('b', { session: 'ses_b' }), 9)
    await store().delete('ses_a')
    expect((await store().unrevokedDecisionLinks(5)).map(({ id }) => id)).toEqual(['b'])
  })

  it('deletes the links of a session whose event is redacted, because they name the hash of an input', async () => {
    const state = { ...emptyState('ses_a', 'epo_a'), seq: 1 }
    const event = { seq: 1, json: '{"seq":1}' }
    await store().create({ sessionId: 'ses_a', epoch: 'epo_a', state, events: [event] })
    await store().addDecisionLink(linkOf('a'), 9)
    await store().addDecisionLink(linkOf('b', { session: 'ses_b' }), 9)
    await store().redact({ sessionId: 'ses_a', events: [event], epoch: 'epo_b', state })
    expect(await store().decisionLink('hash a')).toBeUndefined()
    expect(await store().decisionLink('hash b')).toEqual(linkOf('b', { session: 'ses_b' }))
  })
}

function useCases(store: Tested): void {
  it('lets exactly one of many uses succeed', async () => {
    await store().addDecisionLink(linkOf('a'), 9)
    const used = await Promise.all(Array.from({ length: 20 }, () => store().useDecisionLink('hash a', 6)))
    expect(used.filter(Boolean)).toHaveLength(1)
    expect(await store().decisionLink('hash a')).toEqual(linkOf('a', { usedAt: 6 }))
  })

  it('uses no link that is unknown, revoked or expired', async () => {
    await store().addDecisionLink(linkOf('a'), 9)
    await store().addDecisionLink(linkOf('b'), 9)
    expect(await store().revokeDecisionLink('b', 5)).toBe(true)
    expect(await store().useDecisionLink('hash a', 100)).toBe(false)
    expect(await store().useDecisionLink('hash b', 6)).toBe(false)
    expect(await store().useDecisionLink('hash c', 6)).toBe(false)
    expect(await store().useDecisionLink('hash a', 99)).toBe(true)
  })

  it('revokes a link once, even after its use', async () => {
    await store().addDecisionLink(linkOf('a'), 9)
    await store().addDecisionLink(linkOf('b'), 9)
    const revoked = await Promise.all([6, 6, 6].map((at) => store().revokeDecisionLink('a', at)))
    expect(revoked.filter(Boolean)).toHaveLength(1)
    await store().useDecisionLink('hash b', 6)
    expect(await store().revokeDecisionLink('b', 7)).toBe(true)
    expect(await store().revokeDecisionLink('missing', 7)).toBe(false)
    await store().releaseDecisionLink('hash b')
    expect(await store().useDecisionLink('hash b', 8)).toBe(false)
  })

  it('makes a used link usable again, but not a revoked one', async () => {
    await store().addDecisionLink(linkOf('a'), 9)
    await store().addDecisionLink(linkOf('b'), 9)
    await store().useDecisionLink('hash a', 6)
    await store().revokeDecisionLink('b', 6)
    for (const hash of ['hash a', 'hash b', 'hash c']) await store().releaseDecisionLink(hash)
    expect(await store().useDecisionLink('hash b', 7)).toBe(false)
    expect(await store().useDecisionLink('hash a', 7)).toBe(true)
    expect(await store().useDecisionLink('hash a', 8)).toBe(false)
  })
}

function linkOf(id: string, changes: Partial<DecisionLinkRecord> = {}): DecisionLinkRecord {
  return {
    id,
    hash: `hash ${id}`,
    session: 'ses_a',
    request: 'req_a',
    inputHash: 'input',
    decisions: ['deny'],
    name: 'link from Chrome on Linux',
    createdBy: { personId: 'per_owner', holder: { kind: 'device', id: 'dev_a' } },
    createdAt: 1,
    expiresAt: 100,
    ...changes,
  }
}
