import { applyToState, emptyState, type LedgerEntry, type SessionEvent } from '@parley/protocol'
import type { LedgerDraft, LedgerStore } from '../core/ledger-store.ts'
import type { SessionStore } from '../core/session-store.ts'
import { afterEach, beforeEach, describe, expect, it } from './peers.ts'

type Store = SessionStore & LedgerStore

export type LedgerStoreUnderTest = {
  readonly store: Store
  /** Closes the store and opens it again. A store that cannot be reopened gives the reason in `notDurable`. */
  readonly reopen?: () => Promise<Store>
  readonly notDurable?: string
  cleanup(): Promise<void>
}

/** Tests every rule of the port `LedgerStore`, and the queueing of drafts by a `SessionStore`, for any store. */
export function ledgerStoreContract(name: string, open: () => Promise<LedgerStoreUnderTest>): void {
  describe(`${name} satisfies the contract of a ledger store`, () => {
    let tested: LedgerStoreUnderTest
    let store: Store
    beforeEach(async () => {
      tested = await open()
      store = tested.store
    })
    afterEach(() => tested.cleanup())
    queueCases(() => store)
    entryCases(() => store)
    sessionCases(() => store)

    it('keeps everything when it is reopened, or states why it cannot be reopened', async () => {
      if (!tested.reopen) return expect(tested.notDurable).toEqual(expect.any(String))
      await store.queueLedger([draftOf('a')])
      await store.chainLedger([entryOf(1)], [])
      await store.addSealKey({ keyId: 'k', publicKey: 'p', addedAt: 1 })
      store = await tested.reopen()
      expect(await queuedIn(store)).toEqual([draftOf('a')])
      expect(await store.ledger({ limit: 9 })).toEqual([entryOf(1)])
      expect(await store.sealKeys()).toHaveLength(1)
    })
  })
}

type Tested = () => Store

async function queuedIn(store: Store): Promise<LedgerDraft[]> {
  return (await store.queuedLedger(100)).map(({ draft }) => draft)
}

function queueCases(store: Tested): void {
  it('queues drafts in order, each with all its fields', async () => {
    await store().queueLedger([
      draftOf('a'),
      draftOf('"; --é\n\0', { data: { text: '\0\ud800', list: [1] } }),
    ])
    await store().queueLedger([draftOf('b', { address: '127.0.0.1', actor })])
    expect(await queuedIn(store())).toEqual([
      draftOf('a'),
      draftOf('"; --é\n\0', { data: { text: '\0\ud800', list: [1] } }),
      draftOf('b', { address: '127.0.0.1', actor }),
    ])
    expect(await store().queuedLedger(1)).toHaveLength(1)
  })

  it('removes exactly the drafts that an entry records', async () => {
    await store().queueLedger([draftOf('a'), draftOf('b'), draftOf('c')])
    const [first, , last] = await store().queuedLedger(3)
    await store().chainLedger([entryOf(1)], [first?.id ?? 0, last?.id ?? 0])
    expect(await queuedIn(store())).toEqual([draftOf('b')])
  })
}

function entryCases(store: Tested): void {
  it('refuses entries that do not follow the last one, and then changes nothing', async () => {
    await store().queueLedger([draftOf('a')])
    const ids = (await store().queuedLedger(1)).map(({ id }) => id)
    await store().chainLedger([entryOf(1), entryOf(2)], [])
    for (const n of [1, 2, 4])
      await expect(store().chainLedger([entryOf(n)], ids)).rejects.toMatchObject({ code: 'conflict' })
    expect(await queuedIn(store())).toEqual([draftOf('a')])
    expect((await store().lastOfLedger())?.n).toBe(2)
  })

  it('accepts exactly one of several concurrent appends at the same position', async () => {
    const all = await Promise.allSettled(
      ['x', 'y', 'z'].map((subject) => store().chainLedger([entryOf(1, { subject })], [])),
    )
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await store().ledger({ limit: 10 })).toHaveLength(1)
  })

  it('returns entries in order, in pages, and can select those about a subject', async () => {
    expect(await store().lastOfLedger()).toBeUndefined()
    const about = (n: number) => ({ subject: n % 2 ? 'odd\n' : 'even' })
    const entries = [1, 2, 3, 4, 5].map((n) => entryOf(n, about(n)))
    await store().chainLedger(entries, [])
    expect(await store().ledger({ limit: 10 })).toEqual(entries)
    expect((await store().ledger({ after: 1, limit: 2 })).map(({ n }) => n)).toEqual([2, 3])
    expect((await store().ledger({ subject: 'odd\n', after: 1, limit: 9 })).map(({ n }) => n)).toEqual([3, 5])
    expect(await store().lastOfLedger()).toEqual(entries[4])
    expect((await store().lastOfLedger('even'))?.n).toBe(4)
    expect(await store().lastOfLedger('none')).toBeUndefined()
  })

  it('adds a key once, and keeps the order of keys', async () => {
    const keys = ['b', 'a'].map((keyId) => ({ keyId, publicKey: `key ${keyId}`, addedAt: 5 }))
    for (const key of keys) expect(await store().addSealKey(key)).toBe(true)
    expect(await store().addSealKey({ keyId: 'a', publicKey: 'other', addedAt: 6 })).toBe(false)
    expect(await store().sealKeys()).toEqual(keys)
  })

  it('lets one process at a time chain drafts', async () => {
    expect(await store().holdLedger()).toBe(true)
    expect(await store().holdLedger()).toBe(true)
  })
}

function sessionCases(store: Tested): void {
  it('queues the drafts of a batch with the batch, or not at all', async () => {
    await createSession(store(), [draftOf('created')])
    await store().append({ sessionId, events: [eventOf(2)], ledger: [draftOf('appended')] })
    const stale = store().append({ sessionId, events: [eventOf(2)], ledger: [draftOf('refused')] })
    await expect(stale).rejects.toMatchObject({ code: 'conflict' })
    await store().delete(sessionId, undefined, [draftOf('deleted')])
    expect(await store().delete(sessionId, undefined, [draftOf('gone')])).toBe(false)
    expect((await queuedIn(store())).map(({ subject }) => subject)).toEqual([
      'created',
      'appended',
      'deleted',
    ])
  })

  it('replaces the texts of some events, the state and the epoch of a redacted session', async () => {
    await createSession(store())
    await store().append({ sessionId, events: [eventOf(2), eventOf(3)] })
    const event = { seq: 2, json: JSON.stringify({ seq: 2, at: 1, sessionId, type: 'event.redacted' }) }
    const seal = { seq: 3, json: `${eventOf(3).json.slice(0, -1)},"seeds":{}}` }
    const state = { ...stateOf(3), title: 'redacted' }
    const redaction = { epoch: 'next', state, ledger: [draftOf('redacted')] }
    await store().redact({ sessionId, events: [event, seal], ...redaction })
    expect((await store().read(sessionId, { limit: 9 })).map(({ json }) => json)).toEqual([
      eventOf(1).json,
      event.json,
      seal.json,
    ])
    expect(await store().load(sessionId)).toMatchObject({
      epoch: 'next',
      head: 3,
      state: { title: 'redacted' },
    })
    await store().append({ sessionId, events: [eventOf(4)] })
    expect(await queuedIn(store())).toEqual([draftOf('redacted')])
    await expect(
      store().redact({ sessionId: 'ses_none', events: [event], ...redaction, ledger: [draftOf('none')] }),
    ).rejects.toMatchObject({ code: 'not_found' })
  })

  it('forgets the hashes of the commands of a redacted session, and keeps their senders', async () => {
    await createSession(store())
    const receiptOf = (commandId: string, hash: string) => ({
      commandId,
      hash,
      receipt: { commandId, seq: 2 },
    })
    const given = [receiptOf('a', 'hash-of-a dev_a'), receiptOf('b', 'hash-of-b')]
    for (const [index, receipt] of given.entries())
      await store().append({ sessionId, events: [eventOf(index + 2)], receipt })
    const event = { seq: 2, json: JSON.stringify({ seq: 2, at: 1, sessionId, type: 'event.redacted' }) }
    await store().redact({ sessionId, events: [event], epoch: 'next', state: stateOf(3) })
    expect(await store().receipt(sessionId, 'a')).toEqual({ ...given[0], hash: ' dev_a' })
    expect(await store().receipt(sessionId, 'b')).toEqual({ ...given[1], hash: '' })
  })
}

const sessionId = 'ses_ledger'
const actor = {
  person: { id: 'per_a', name: 'Ann' },
  device: { id: 'dev_a', name: 'Phone' },
  via: 'http',
} as const

function draftOf(subject: string, more: Partial<LedgerDraft> = {}): LedgerDraft {
  return { at: 5, kind: 'session.sealed', subject, ...more }
}

function entryOf(n: number, more: Partial<LedgerEntry> = {}): LedgerEntry {
  const signed = { prev: `hash ${n - 1}`, keyId: 'key', hash: `hash ${n}`, signature: 'signature' }
  return { n, ...draftOf('subject', { actor, address: '::1', data: { to: n } }), ...signed, ...more }
}

function eventOf(seq: number) {
  const event = {
    seq,
    at: 1,
    sessionId,
    salt: 'abcdefghij-_4567',
    type: 'text.written',
    blockId: 'b',
    text: 'x',
  }
  return { seq, json: JSON.stringify(event) }
}

function stateOf(seq: number) {
  const created = { seq: 1, at: 1, sessionId, type: 'session.created', agent: 'a', cwd: '/', mode: 'ask' }
  return { ...applyToState(emptyState(sessionId, 'first'), created as SessionEvent), seq }
}

function createSession(store: Store, ledger: LedgerDraft[] = []): Promise<void> {
  return store.create({ sessionId, epoch: 'first', events: [eventOf(1)], state: stateOf(1), ledger })
}
