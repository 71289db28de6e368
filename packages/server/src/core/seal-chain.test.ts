import { describe, expect, it } from 'vitest'
import { sealedHostUnderTest } from '../proof/sealed-log-under-test.ts'
import { verifyLog } from '../proof/verify-log.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { killableStore } from '../testing/killable-store.ts'
import { hostUnderTest } from './host-under-test.ts'

const text = { type: 'text', text: 'Words.' } as const

describe('the seals of a log', () => {
  it('form one chain across a restart', async () => {
    await using sealed = await sealedHostUnderTest()
    const session = await sealed.world.create()
    await session.play(text)
    await sealed.world.restart()
    await session.play(text)
    const verified = verifyLog(await sealed.linesOf(session.id), sealed.keys)
    expect(verified).toMatchObject({ findings: [], seals: 3, isLate: false })
  })

  it('cover a turn of any length, with events of any size', async () => {
    await using sealed = await sealedHostUnderTest()
    const session = await sealed.world.create()
    const short = Array.from(
      { length: 70 },
      (_, index) => ({ type: 'text', text: `Words ${index}.` }) as const,
    )
    await session.play(...short, { type: 'text', text: 'long '.repeat(10_000) }, text)
    await session.play(text)
    const verified = verifyLog(await sealed.linesOf(session.id), sealed.keys)
    expect(verified).toMatchObject({ findings: [], seals: 2 })
    expect(verified.events).toBeGreaterThan(72)
  })

  it('form one chain in the original and one in a fork, which starts with its first own seal', async () => {
    await using sealed = await sealedHostUnderTest()
    const session = await sealed.world.create()
    await session.play(text)
    const { sessionId: id = '' } = await session.command({ type: 'session.fork' })
    await session.play(text)
    const fork = await sealed.world.host.state(id)
    expect(fork.sealed).toBeUndefined()
    await sealed.world.host.command(id, {
      type: 'prompt.submit',
      commandId: 'in the fork',
      text: JSON.stringify([text]),
    })
    await expect.poll(async () => (await sealed.world.host.state(id)).sealed).toBeDefined()
    const ofFork = verifyLog(await sealed.linesOf(id), sealed.keys)
    expect(ofFork).toMatchObject({ findings: [], isLate: false, forkedFrom: { sessionId: session.id } })
    expect(verifyLog(await sealed.linesOf(session.id), sealed.keys).findings).toEqual([])
  })

  it('begin with a late seal over everything in a log of an older version', async () => {
    const store = createMemoryStore()
    const old = await hostUnderTest({ store })
    const before = await old.create()
    await before.play(text)
    await old[Symbol.asyncDispose]()
    await using sealed = await sealedHostUnderTest(store)
    const lines = await sealed.linesOf(before.id)
    expect(lines.some((line) => line.includes('"salt"'))).toBe(false)
    await sealed.world.host.command(before.id, { type: 'session.release', commandId: 'release' })
    const verified = verifyLog(await sealed.linesOf(before.id), sealed.keys)
    expect(verified).toMatchObject({ findings: [], isLate: true, seals: 1 })
  })

  it.each([true, false])(
    'form one chain if the process is killed at any write of a turn (written: %s)',
    async (isWritten) => {
      for (let write = 0; write < 6; write++) {
        const store = createMemoryStore()
        const killable = killableStore(store)
        const sealed = await sealedHostUnderTest(store, { store: killable.store })
        const session = await sealed.world.create()
        await session.play(text)
        killable.killAt(write, isWritten)
        void session.submit(text).catch(() => undefined)
        for (let rounds = 0; rounds < 200; rounds++) await new Promise((resolve) => setImmediate(resolve))
        const { sealer, keys } = sealed
        await using next = await hostUnderTest({ store, sealer, ledger: store })
        await next.host.command(session.id, { type: 'session.close', commandId: 'close' })
        await expect.poll(async () => (await next.host.state(session.id)).turn).toBeUndefined()
        const { events } = await next.host.read(session.id, { limit: 1000 })
        expect(
          verifyLog(
            events.map(({ json }) => json),
            keys,
          ).findings,
        ).toEqual([])
      }
    },
  )
})

describe('the ledger of a host', () => {
  it('has one entry for the seals of a session that are queued together, and links every entry', async () => {
    await using sealed = await sealedHostUnderTest()
    const { host, time } = sealed.world
    const session = await sealed.world.create()
    await session.play(text)
    await session.play(text)
    time.advance(1000)
    await session.play(text)
    const { sealed: last } = await session.state()
    const entries = await host.ledgerEntries({ subject: session.id, limit: 100 })
    expect(entries.at(-1)?.data).toMatchObject({ hash: last?.hash })
    expect(entries.length).toBeLessThan(4)
    await host.delete(session.id)
    const deleted = await host.lastLedgerEntry(session.id)
    expect(deleted).toMatchObject({ kind: 'session.deleted', data: { sealed: last } })
  })

  it('is kept only by a host with a sealer', async () => {
    await using world = await hostUnderTest()
    await world.host.recordInLedger({ kind: 'test', subject: 'nothing' })
    await expect(world.host.ledgerEntries({ limit: 1 })).rejects.toMatchObject({ code: 'not_supported' })
  })
})
