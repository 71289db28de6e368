import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createMemoryStore } from '../stores/memory.ts'
import { createHandClock, type HandClock } from '../testing/hand-clock.ts'
import { createLedger } from './ledger.ts'
import type { LedgerStore } from './ledger-store.ts'

const sealer = { keyId: 'key', sign: () => 'signature', seed: () => 'seed' }

/** Advances the clock in steps, so that the work of each timer ends before the next timer is due. */
async function pass(clock: HandClock, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 10) {
    clock.advance(10)
    await setImmediate()
  }
}

/** A process that chains drafts of a store which other processes use too. */
function processOn(store: LedgerStore, clock: HandClock) {
  const problem = ({ error }: { error: unknown }) => {
    throw error
  }
  return createLedger({ store, sealer, clock, isShared: true, problem })
}

const seal = (at: number, to: number) =>
  ({ at, kind: 'session.sealed', subject: 'ses_a', data: { to, hash: `hash ${to}` } }) as const

it('a seal of a process that has ended is in the ledger of another process within a second', async () => {
  const store = createMemoryStore()
  const clock = createHandClock()
  const survivor = processOn(store, clock)
  // The survivor has just looked and found nothing. Then the other process queues a seal and ends.
  await pass(clock, 750)
  await store.queueLedger([seal(clock.now(), 4), seal(clock.now(), 9)])
  expect(await store.ledger({ limit: 9 })).toEqual([])
  await pass(clock, 1_000)
  expect((await store.ledger({ limit: 9 })).map(({ n, data }) => [n, data?.to])).toEqual([[1, 9]])
  await survivor.close()
})

it('a process that may not chain drafts leaves them to another process, and looks again', async () => {
  const store = createMemoryStore()
  const clock = createHandClock()
  let isHeld = true
  const waiting = processOn({ ...store, holdLedger: async () => !isHeld }, clock)
  await store.queueLedger([seal(clock.now(), 4)])
  await pass(clock, 1_000)
  expect(await store.ledger({ limit: 9 })).toEqual([])
  isHeld = false
  await pass(clock, 1_000)
  expect(await store.ledger({ limit: 9 })).toHaveLength(1)
  await waiting.close()
})
