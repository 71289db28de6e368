import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { type Keys, keysOf } from './keys.ts'
import { playDecisions, sealedHostUnderTest } from './sealed-log-under-test.ts'
import { verifyLog } from './verify-log.ts'

const runs = Number(process.env.PARLEY_PROPERTY_RUNS ?? 300)

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
    const change = fc.record({
      position,
      at: fc.nat(),
      remove: fc.nat({ max: 2 }),
      insert: fc.string({ maxLength: 3 }),
    })
    fc.assert(
      fc.property(change, ({ position: index, at, remove, insert }) => {
        const line = lines[index] ?? ''
        const start = at % line.length
        const changed = line.slice(0, start) + insert + line.slice(start + remove)
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
