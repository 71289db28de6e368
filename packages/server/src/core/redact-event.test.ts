import type { EventOf, SessionEvent } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { playDecisions, sealByOldRules, sealedHostUnderTest } from '../proof/sealed-log-under-test.ts'
import { verifyLog } from '../proof/verify-log.ts'
import { Salts } from './salts.ts'
import { leafOf, SealHash, splitSecrets } from './seal-text.ts'

const secret = { type: 'text', text: 'The PIN is 4711.' } as const
const parsed = (line: string) => JSON.parse(line) as SessionEvent

type Seal = EventOf<'log.sealed'>
const sealsIn = (lines: readonly string[]) =>
  lines
    .filter((line) => parsed(line).type === 'log.sealed')
    .map((line) => ({ line, seal: parsed(line) as Seal }))

const seqOf = (lines: readonly string[], words: string, type: SessionEvent['type'] = 'text.written') =>
  lines.findIndex((line) => line.includes(`"type":"${type}"`) && line.includes(words)) + 1

/**
 * Whether somebody with the lines of a log after a redaction can confirm that the event `seq` had this text: with any
 * seal, its secrets or none, the guess gives the leaf of the event or the hash of a seal that covers the event.
 */
function isConfirmed(lines: readonly string[], seq: number, guess: string): boolean {
  const known = parsed(lines[seq - 1] ?? '')
  const leaf = known.type === 'event.redacted' ? Buffer.from(known.leaf, 'base64url').toString('binary') : ''
  const seals = sealsIn(lines).filter(({ seal }) => seal.from <= seq && seq <= seal.to)
  return seals.some(({ line, seal }) => {
    const { secrets } = splitSecrets(line)
    const salts = secrets && new Salts(secrets)
    const leaves = (text: (one: number) => string, salt: (one: number) => string | undefined) =>
      Array.from({ length: seal.to - seal.from + 1 }, (_, index) => {
        const one = seal.from + index
        return leafOf(text(one), salt(one))
      })
    const guessed = [undefined, salts?.at(seq - seal.from)].map((salt) => leafOf(guess, salt))
    const hashes = ([1, 2] as const).map((version) => {
      const sealHash = new SealHash(seal.sessionId, seal.from, seal.prev, version)
      const text = (one: number) => (one === seq ? guess : (lines[one - 1] ?? ''))
      return sealHash.upTo(seal.to, leaves(text, (one) => salts?.at(one - seal.from)).join(''))
    })
    return guessed.includes(leaf) || hashes.includes(seal.hash)
  })
}

describe('a redaction', () => {
  it('keeps the seals valid, and leaves nothing that confirms a guess of the text', async () => {
    await using sealed = await sealedHostUnderTest()
    const { host } = sealed.world
    const session = await sealed.world.create()
    await session.play({ type: 'text', text: 'Before.' }, secret, { type: 'text', text: 'The PUK is 42.' })
    await session.play({ type: 'text', text: 'After.' })
    const before = await sealed.linesOf(session.id)
    const seqs = ['4711', 'PUK'].map((word) => seqOf(before, word))
    for (const seq of seqs) {
      expect(isConfirmed(before, seq, before[seq - 1] ?? '')).toBe(true)
      await host.redact(session.id, { seq, reason: 'secret' })
      const lines = await sealed.linesOf(session.id)
      expect(isConfirmed(lines, seq, before[seq - 1] ?? '')).toBe(false)
      expect(verifyLog(lines, sealed.keys)).toMatchObject({ findings: [], sealedTo: lines.length })
    }
    const lines = await sealed.linesOf(session.id)
    expect(verifyLog(lines, sealed.keys).redacted.map(({ seq }) => seq)).toEqual(seqs)
    const changed = sealsIn(lines).filter(({ seal }) => seal.seed === undefined)
    expect(changed.map(({ seal }) => seal.seq)).toEqual([sealsIn(lines)[0]?.seal.seq])
    await session.play({ type: 'text', text: 'And on.' })
    const longer = await sealed.linesOf(session.id)
    expect(verifyLog(longer, sealed.keys)).toMatchObject({ findings: [], sealedTo: longer.length })
  })

  it('in a fork removes the salts of the fork; the copied seals have none', async () => {
    await using sealed = await sealedHostUnderTest()
    const { host } = sealed.world
    const session = await sealed.world.create()
    await session.play(secret, { type: 'text', text: 'The PUK is 42.' })
    const original = await sealed.linesOf(session.id)
    await host.redact(session.id, { seq: seqOf(original, 'PUK'), reason: 'secret' })
    const { sessionId: id = '' } = await session.command({ type: 'session.fork' })
    const copied = await sealed.linesOf(id)
    expect(sealsIn(copied).filter(({ line }) => splitSecrets(line).secrets)).toEqual([])
    const seq = seqOf(copied, '4711')
    await host.redact(id, { seq, reason: 'secret' })
    const lines = await sealed.linesOf(id)
    expect(isConfirmed(lines, seq, copied[seq - 1] ?? '')).toBe(false)
    // The log of the original, with the fork's copy of the seal, which still contains the hash.
    const [first] = sealsIn(lines)
    const withOriginal = original.with(seqOf(original, '', 'log.sealed') - 1, first?.line ?? '')
    expect(isConfirmed(withOriginal, seq, original[seq - 1] ?? '')).toBe(false)
    expect(verifyLog(lines, sealed.keys)).toMatchObject({ findings: [], sealedTo: lines.length })
    const redacted = verifyLog(await sealed.linesOf(id), sealed.keys).redacted
    expect(redacted.map((one) => one.seq)).toEqual([seqOf(original, '4711'), seqOf(original, 'PUK')])
  })
})

describe('a redaction in a log that an earlier version continued', () => {
  it('keeps its seals valid, which cover the seed of the seal before them', async () => {
    await using sealed = await sealedHostUnderTest()
    const { store } = sealed
    const session = await sealed.world.create()
    await session.play(secret)
    await sealed.world.restart()
    const before = (await store.read(session.id, { limit: 100 })).map(({ json }) => json)
    const { host } = sealed.world
    const old = sealByOldRules(before, sealed.sealer)
    const record = await store.load(session.id)
    if (!record) throw new Error('There is no session.')
    const last = parsed(old.json) as Seal
    const state = { ...record.state, seq: old.seq, sealed: { seq: last.seq, hash: last.hash } }
    await store.append({ sessionId: session.id, events: [old], state })
    const seq = seqOf(before, '4711')
    await session.play({ type: 'text', text: 'After.' })
    expect(verifyLog(await sealed.linesOf(session.id), sealed.keys).findings).toEqual([])
    for (const one of [seq, seqOf(before, '', 'agent.disconnected')]) {
      await host.redact(session.id, { seq: one, reason: 'secret' })
      const lines = await sealed.linesOf(session.id)
      expect(verifyLog(lines, sealed.keys)).toMatchObject({ findings: [], sealedTo: lines.length })
      expect(isConfirmed(lines, one, before[one - 1] ?? '')).toBe(false)
    }
    const lines = await sealed.linesOf(session.id)
    const changed = lines.findIndex((line) => line.includes('"leaf"') && line.includes('log.sealed'))
    const forged = (lines[changed] ?? '').replace(/"at":\d+/, '"at":1')
    expect(forged).toContain('"seeds":{')
    expect(verifyLog(lines.with(changed, forged), sealed.keys).findings).not.toEqual([])
  })

  it('removes the secrets of copied seals that an earlier version left in a fork and sealed', async () => {
    await using sealed = await sealedHostUnderTest()
    const { store } = sealed
    const { host } = sealed.world
    const session = await sealed.world.create()
    await playDecisions(session)
    await session.command({ type: 'session.close' })
    const original = await sealed.linesOf(session.id)
    const id = 'ses_fork'
    const copies = original.map((line, index) => {
      const event = { ...parsed(line), sessionId: id } as SessionEvent
      const forkedFrom = { sessionId: session.id, seq: original.length }
      const json = JSON.stringify(index === 0 ? { ...event, forkedFrom } : event)
      return { seq: event.seq, json }
    })
    const old = sealByOldRules(
      copies.map(({ json }) => json),
      sealed.sealer,
    )
    const record = await store.load(session.id)
    if (!record) throw new Error('There is no session.')
    const last = parsed(old.json) as Seal
    const seal = { seq: last.seq, hash: last.hash }
    const state = {
      ...record.state,
      id,
      seq: old.seq,
      forkedFrom: { sessionId: session.id, seq: original.length },
    }
    const events = [...copies, old]
    await store.create({ sessionId: id, epoch: 'epo_fork', events, state: { ...state, sealed: seal } })
    expect(verifyLog(await sealed.linesOf(id), sealed.keys).findings).toEqual([])
    const seq = seqOf(original, 'First, a text.')
    await host.redact(id, { seq, reason: 'secret' })
    const lines = await sealed.linesOf(id)
    expect(verifyLog(lines, sealed.keys)).toMatchObject({ findings: [], sealedTo: lines.length })
    const covering = sealsIn(lines).filter(({ seal }) => seal.from <= seq && seq <= seal.to)
    expect(covering.map(({ line }) => splitSecrets(line).secrets)).toEqual([undefined, undefined])
    const replaced = lines.findIndex((line) => line.includes('"leaf"') && line.includes('log.sealed'))
    const forged = (lines[replaced] ?? '').replace(/"at":\d+/, '"at":1')
    expect(verifyLog(lines.with(replaced, forged), sealed.keys).findings).toEqual([
      expect.objectContaining({ text: expect.stringContaining('without a valid signature') }),
    ])
  })
})
