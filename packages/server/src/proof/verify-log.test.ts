import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ExportProof, emptyState, type SessionEvent } from '@parley/protocol'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { withEvent } from '../core/session-log.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { type Keys, keysOf } from './keys.ts'
import { playDecisions, sealedHostUnderTest } from './sealed-log-under-test.ts'
import { verifyLog } from './verify-log.ts'

const runs = Number(process.env.PARLEY_PROPERTY_RUNS ?? 300)

/** A function that changes, adds or removes characters of a text. */
const changeOfText = fc
  .record({ at: fc.nat(), remove: fc.nat({ max: 2 }), insert: fc.string({ maxLength: 3 }) })
  .map(({ at, remove, insert }) => (text: string) => {
    const start = at % text.length
    return text.slice(0, start) + insert + text.slice(start + remove)
  })

describe('a sealed log', async () => {
  const sealed = await sealedHostUnderTest()
  afterAll(() => sealed[Symbol.asyncDispose]())
  const { keys, world } = sealed
  const session = await world.create()
  await playDecisions(session)
  const lines = await sealed.linesOf(session.id)
  const intact = verifyLog(lines, keys)

  it('is verified up to its last seal, which is its last event', () => {
    expect(intact.findings).toEqual([])
    expect(intact.sealedTo).toBe(lines.length)
    expect(intact.seals).toBe(5)
    expect(intact.isLate).toBe(false)
  })

  it('is sealed after each answer of a person and each turn', () => {
    const types = lines.map((line) => (JSON.parse(line) as { type: string }).type)
    const sealedTypes = types.flatMap((type, index) => (types[index + 1] === 'log.sealed' ? [type] : []))
    expect(sealedTypes).toEqual([
      'turn.ended',
      'permission.resolved',
      'turn.ended',
      'permission.resolved',
      'turn.ended',
    ])
  })

  it('lists the call that ran, with its decision', () => {
    expect(intact.calls).toEqual([
      expect.objectContaining({
        tool: 'Write',
        outcome: 'completed',
        by: 'person',
        inputHash: expect.any(String),
      }),
    ])
  })

  it('does not verify with the key of another server', async () => {
    await using other = await sealedHostUnderTest()
    expect(verifyLog(lines, other.keys).findings).toHaveLength(5)
    expect(verifyLog(lines, keysOf([]) as Keys).findings).toHaveLength(5)
  })

  it('does not verify without its last seal, if the verifier knows that seal', () => {
    const { lastSeal } = intact
    const cut = lines.slice(
      0,
      lines.findLastIndex((line, index) => line.includes('"log.sealed"') && index < lines.length - 1) + 1,
    )
    expect(verifyLog(cut, keys).findings).toEqual([])
    expect(verifyLog(cut, keys, { head: lastSeal }).findings).toEqual([
      expect.objectContaining({ text: expect.stringContaining('cut off') }),
    ])
    expect(verifyLog(lines, keys, { head: lastSeal }).findings).toEqual([])
  })

  const position = fc.nat({ max: lines.length - 1 })
  /** A changed last seal counts as missing. That is noticed only if the verifier knows the seal. */
  const headFor = (index: number) => (index === lines.length - 1 ? intact.lastSeal : undefined)

  it('does not verify with any character of any line changed, added or removed', () => {
    fc.assert(
      fc.property(position, changeOfText, (index, change) => {
        const line = lines[index] ?? ''
        const changed = change(line)
        fc.pre(changed !== line)
        expect(verifyLog(lines.with(index, changed), keys, { head: headFor(index) }).findings).not.toEqual([])
      }),
      { numRuns: runs },
    )
  })

  it('does not verify with any field of any event changed, written as valid JSON', () => {
    fc.assert(
      fc.property(position, fc.nat(), fc.jsonValue(), (index, pick, value) => {
        const event = JSON.parse(lines[index] ?? '') as Record<string, unknown>
        const names = Object.keys(event)
        const name = names[pick % names.length] ?? ''
        const changed = JSON.stringify({ ...event, [name]: value })
        fc.pre(changed !== lines[index])
        expect(verifyLog(lines.with(index, changed), keys, { head: headFor(index) }).findings).not.toEqual([])
      }),
      { numRuns: runs },
    )
  })

  it('does not verify with lines missing, swapped, repeated or inserted', () => {
    fc.assert(
      fc.property(
        position,
        position,
        fc.constantFrom('remove', 'swap', 'repeat', 'renumber'),
        (one, other, how) => {
          // Without its last line, the log ends at an earlier seal or with events that no seal covers.
          fc.pre(one !== other && one < lines.length - 1 && other < lines.length - 1)
          const [a = '', b = ''] = [lines[one], lines[other]]
          const renumbered = a.replace(/^\{"seq":\d+/, `{"seq":${other + 1}`)
          const changed = {
            remove: lines.toSpliced(one, 1),
            swap: lines.with(one, b).with(other, a),
            repeat: lines.toSpliced(other, 0, a),
            renumber: lines.with(other, renumbered),
          }[how]
          expect(verifyLog(changed, keys).findings).not.toEqual([])
        },
      ),
      { numRuns: runs },
    )
  })

  it('does not verify if the changed events are sealed again with another key', async () => {
    await using forger = await sealedHostUnderTest()
    const forged = await forger.world.create()
    await playDecisions(forged)
    expect(verifyLog(await forger.linesOf(forged.id), keys).findings).not.toEqual([])
  })
})

describe('a sealed log with redacted events', async () => {
  const sealed = await sealedHostUnderTest()
  afterAll(() => sealed[Symbol.asyncDispose]())
  const { keys, world } = sealed
  const session = await world.create()
  await playDecisions(session)
  for (const { seq } of (await session.events('text.written')).slice(0, 2))
    await world.host.redact(session.id, { seq, reason: 'a test' })
  const lines = await sealed.linesOf(session.id)
  const seals = lines.flatMap((line, index) => (line.includes('"type":"log.sealed"') ? [index] : []))
  const { lastSeal: head } = verifyLog(lines, keys)

  it('is verified up to its last seal', () => {
    expect(verifyLog(lines, keys)).toMatchObject({ findings: [], sealedTo: lines.length })
    expect(lines.filter((line) => line.includes('"seeds":{'))).toHaveLength(2)
  })

  it('does not verify with any character of any line changed, added or removed, even in a seed', () => {
    fc.assert(
      fc.property(fc.nat({ max: lines.length - 1 }), changeOfText, (index, change) => {
        const line = lines[index] ?? ''
        fc.pre(change(line) !== line)
        expect(verifyLog(lines.with(index, change(line)), keys, { head }).findings).not.toEqual([])
      }),
      { numRuns: runs },
    )
  })

  const secret = fc.stringMatching(/^[0-9a-f]{32}$/)
  const secrets = fc.oneof(
    fc.constant(''),
    fc.stringMatching(/^[\w-]{22}$/).map((seed) => `,"seed":"${seed}"`),
    fc
      .dictionary(fc.stringMatching(/^[0-6]\.[0-9]$/), secret, { maxKeys: 9 })
      .map((seeds) => `,"seeds":${JSON.stringify(seeds)}`),
  )

  it('does not verify with a changed event, whatever seeds the seals have', () => {
    fc.assert(
      fc.property(fc.nat(), changeOfText, secrets, (pick, change, given) => {
        const others = lines.flatMap((_, index) => (seals.includes(index) ? [] : [index]))
        const index = others[pick % others.length] ?? 0
        const line = lines[index] ?? ''
        fc.pre(change(line) !== line)
        const seal = seals.find((one) => one > index) ?? 0
        const changedSeal = (lines[seal] ?? '').replace(/,"seeds?":.*\}$/, '}').replace(/\}$/, `${given}}`)
        const changed = lines.with(index, change(line))
        expect(verifyLog(changed, keys).findings).not.toEqual([])
        expect(verifyLog(changed.with(seal, changedSeal), keys).findings).not.toEqual([])
      }),
      { numRuns: runs },
    )
  })

  it('does not verify if an event is replaced by a seal or a redaction that nobody signed', () => {
    const [first = 0] = seals
    const forge = (index: number, type: string) => {
      const { seq, at, sessionId } = JSON.parse(lines[index] ?? '') as SessionEvent
      const leaf = createHash('sha256')
        .update(lines[index] ?? '')
        .digest('base64url')
      const { keyId } = JSON.parse(lines[first] ?? '') as { keyId: string }
      return JSON.stringify({ seq, at, sessionId, type, was: 'x', kept: {}, keyId, leaf, signature: 'AAAA' })
    }
    for (const type of ['log.sealed', 'event.redacted'])
      expect(verifyLog(lines.with(1, forge(1, type)), keys).findings).not.toEqual([])
  })
})

describe('an export of a version whose events have salts', () => {
  const file = join(import.meta.dirname, 'fixtures', 'export-with-salts.jsonl')
  const exported = readFileSync(file, 'utf8').trimEnd().split('\n')
  const lines = exported.slice(0, -1)
  const keys = keysOf(ExportProof.parse(JSON.parse(exported.at(-1) ?? '')).keys.map((key) => key.publicKey))

  it('verifies, with its redaction', () => {
    expect(verifyLog(lines, keys)).toMatchObject({ findings: [], sealedTo: 17, seals: 3, isLate: false })
    expect(verifyLog(lines, keys).redacted).toMatchObject([{ seq: 2 }])
  })

  it('does not verify with a changed event, or with a seed', () => {
    const seeded = (lines[10] ?? '').replace(/\}$/, ',"seed":"AAAAAAAAAAAAAAAAAAAAAA"}')
    expect(verifyLog(lines.with(10, seeded), keys).findings).not.toEqual([])
    for (const [index, line] of lines.entries())
      expect(verifyLog(lines.with(index, line.replace('"at":17', '"at":18')), keys).findings).not.toEqual([])
  })

  it('is continued by this version, and its events can be redacted', async () => {
    const events = lines.map((json, index) => ({ seq: index + 1, json }))
    const { sessionId: id } = JSON.parse(lines[0] ?? '') as SessionEvent
    const folded = lines.reduce(withEvent, emptyState(id, 'epo_old'))
    const store = createMemoryStore()
    const state = { ...folded, agent: 'scripted', cwd: tmpdir() }
    await store.create({ sessionId: id, epoch: 'epo_old', events, state })
    await using sealed = await sealedHostUnderTest(store)
    const { host } = sealed.world
    const both = new Map([...keys, ...sealed.keys])
    await host.patch(id, { title: 'The PIN is 4711.' })
    await host.command(id, { type: 'session.release', commandId: 'release' })
    await host.seal(id)
    const longer = await sealed.linesOf(id)
    const renamed = longer.findIndex((line) => line.includes('4711')) + 1
    expect(verifyLog(longer, both)).toMatchObject({ findings: [], isLate: false, sealedTo: longer.length })
    expect(longer.slice(lines.length).filter((line) => line.includes('"salt"'))).toEqual([])
    for (const seq of [7, renamed]) await host.redact(id, { seq, reason: 'a test' })
    const after = await sealed.linesOf(id)
    expect(verifyLog(after, both)).toMatchObject({ findings: [], sealedTo: after.length })
    expect(verifyLog(after, both).redacted.map(({ seq }) => seq)).toEqual([2, 7, renamed])
  })
})
