import { ParleyError } from '@parley/protocol'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type ConnectionSlots, createConnectionSlots } from './connection-slots.ts'

const never = new AbortController().signal
const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

/** A caller that asks for a slot, and writes to `log` when it has one. */
function visitor(slots: ConnectionSlots, name: string, log: string[]) {
  const leaving = new AbortController()
  let release: (() => void) | undefined
  let idleSince: number | undefined
  let asked = 0
  const holder = {
    idleSince: () => idleSince,
    yieldSlot() {
      asked++
      idleSince = undefined
    },
  }
  return {
    come: () =>
      slots.acquire(holder, leaving.signal).then(
        (give) => {
          log.push(name)
          release = give
        },
        (error: unknown) => {
          log.push(`${name} ${error instanceof ParleyError ? error.code : error}`)
        },
      ),
    leave: () => release?.(),
    giveUp: () => leaving.abort(),
    idle(since: number) {
      idleSince = since
      slots.becameIdle()
    },
    get asked() {
      return asked
    },
  }
}

function crowd(max: number, ...names: string[]) {
  const slots = createConnectionSlots(max)
  const log: string[] = []
  return { slots, log, people: names.map((name) => visitor(slots, name, log)) }
}

describe('the slots', () => {
  it('are given at once while some are free, and never more than the limit', async () => {
    const { slots, log, people } = crowd(2, 'a', 'b', 'c')
    for (const one of people) void one.come()
    await settled()
    expect(log).toEqual(['a', 'b'])
    expect(slots.used).toBe(2)
    people[0]!.leave()
    await settled()
    expect(log).toEqual(['a', 'b', 'c'])
    expect(slots.used).toBe(2)
  })

  it('are free after they are released; a second release has no effect', async () => {
    const { slots, people } = crowd(1, 'a')
    await people[0]!.come()
    people[0]!.leave()
    people[0]!.leave()
    expect(slots.used).toBe(0)
  })

  it('are counted separately if one holder has acquired two', async () => {
    const slots = createConnectionSlots(3)
    const holder = { idleSince: () => undefined, yieldSlot: () => undefined }
    const first = await slots.acquire(holder, never)
    await slots.acquire(holder, never)
    expect(slots.used).toBe(2)
    first()
    first()
    expect(slots.used).toBe(1)
  })
})

describe('the waiting line', () => {
  it('is served first come, first served', async () => {
    const { log, people } = crowd(1, 'a', 'b', 'c', 'd')
    for (const one of people) void one.come()
    for (const one of people) {
      await settled()
      one.leave()
    }
    expect(log).toEqual(['a', 'b', 'c', 'd'])
  })

  it('is not overtaken by a caller that asks just as a slot becomes free', async () => {
    const { log, people } = crowd(1, 'a', 'b', 'late')
    const [a, b, late] = people
    await a!.come()
    void b!.come()
    await settled()
    a!.leave()
    void late!.come()
    await settled()
    expect(log).toEqual(['a', 'b'])
  })

  it('keeps its order when a caller leaves it', async () => {
    const { log, people } = crowd(1, 'a', 'b', 'c', 'd')
    const [a, b, c, d] = people
    for (const one of people) void one.come()
    await settled()
    b!.giveUp()
    await settled()
    expect(log).toEqual(['a', 'b cancelled'])
    for (const one of [a, c, d]) {
      one!.leave()
      await settled()
    }
    expect(log).toEqual(['a', 'b cancelled', 'c', 'd'])
  })

  it('is not blocked by a caller that leaves just as a slot is offered', async () => {
    const { log, people } = crowd(1, 'a', 'b', 'c')
    const [a, b] = people
    for (const one of people) void one.come()
    await settled()
    a!.leave()
    b!.giveUp()
    await settled()
    b!.leave()
    await settled()
    expect(log.at(-1)).toBe('c')
  })

  it('is not joined by a caller that is already cancelled', async () => {
    const { slots, log, people } = crowd(1, 'a')
    people[0]!.giveUp()
    await people[0]!.come()
    expect(log).toEqual(['a cancelled'])
    expect(slots.used).toBe(0)
  })
})

describe('an idle holder', () => {
  it('releases its slot, the longest idle holder first', async () => {
    const { log, people } = crowd(3, 'a', 'b', 'c', 'd')
    const [a, b, c, d] = people
    for (const one of people.slice(0, 3)) void one.come()
    await settled()
    b!.idle(20)
    c!.idle(10)
    void d!.come()
    await settled()
    expect([a!.asked, b!.asked, c!.asked]).toEqual([0, 0, 1])
    expect(log).toEqual(['a', 'b', 'c'])
    c!.leave()
    await settled()
    expect(log).toEqual(['a', 'b', 'c', 'd'])
  })

  it('is asked to release its slot as soon as it becomes idle while another waits', async () => {
    const { log, people } = crowd(1, 'a', 'b')
    const [a, b] = people
    for (const one of people) void one.come()
    await settled()
    expect(a!.asked).toBe(0)
    a!.idle(1)
    await settled()
    expect(a!.asked).toBe(1)
    a!.leave()
    await settled()
    expect(log).toEqual(['a', 'b'])
    expect(b!.asked).toBe(0)
  })

  it('keeps its slot while others are free', async () => {
    const { people } = crowd(2, 'a', 'b')
    const [a, b] = people
    await a!.come()
    a!.idle(1)
    await b!.come()
    expect(a!.asked).toBe(0)
  })

  it('that releases its slot at once gives it to the caller that asked', async () => {
    const slots = createConnectionSlots(1)
    let release: () => void = () => undefined
    release = await slots.acquire({ idleSince: () => 1, yieldSlot: () => release() }, never)
    await slots.acquire({ idleSince: () => undefined, yieldSlot: () => undefined }, never)
    expect(slots.used).toBe(1)
  })

  it('may release its slot slowly without disturbing the waiting line', async () => {
    const { log, people } = crowd(1, 'a', 'b', 'c')
    const [a, b] = people
    for (const one of people) void one.come()
    await settled()
    a!.idle(1)
    await settled()
    a!.leave()
    await settled()
    b!.leave()
    await settled()
    expect(log).toEqual(['a', 'b', 'c'])
  })
})

describe('any sequence of requests', () => {
  it('is served within the limit and in order, except for cancelled requests', async () => {
    const step = fc.tuple(fc.constantFrom('come', 'leave', 'giveUp', 'idle', 'wait'), fc.nat(5))
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.array(step, { maxLength: 30, size: 'max' }),
        async (max, steps) => {
          const { slots, log, people } = crowd(max, '0', '1', '2', '3', '4', '5')
          const came: string[] = []
          for (const [what, who] of steps) {
            const person = people[who]!
            if (what === 'come' && !came.includes(`${who}`)) {
              came.push(`${who}`)
              void person.come()
            }
            if (what === 'leave') person.leave()
            if (what === 'giveUp') person.giveUp()
            if (what === 'idle' && log.includes(`${who}`)) person.idle(who)
            if (what === 'wait') await settled()
            expect(slots.used).toBeLessThanOrEqual(max)
          }
          for (let round = 0; round < 12; round++) {
            await settled()
            for (const person of people) person.leave()
          }
          const served = log.filter((line) => /^\d$/.test(line))
          const cancelled = log.filter((line) => line.endsWith(' cancelled')).map((line) => line.charAt(0))
          expect([...served, ...cancelled].toSorted()).toEqual(came.toSorted())
          expect(served).toEqual(came.filter((name) => !cancelled.includes(name)))
          expect(slots.used).toBe(0)
        },
      ),
    )
  })
})
