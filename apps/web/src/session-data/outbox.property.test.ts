import fc from 'fast-check'
import { expect, it } from 'vitest'
import { graceMs } from '../../testing/fake-browser.ts'
import { setUp } from '../../testing/note-outbox.ts'

/** Tabs are named by numbers. A step in a tab that is not open opens that tab. */
type Step =
  | { readonly type: 'add'; readonly tab: number; readonly group: string }
  | { readonly type: 'withdraw'; readonly tab: number; readonly item: number }
  | { readonly type: 'close'; readonly tab: number }
  | { readonly type: 'reload'; readonly tab: number }
  | { readonly type: 'offline' | 'online' | 'settle' | 'wait' | 'lose receipts' }

const tab = fc.nat(3)
const group = fc.constantFrom('a', 'b')
const step = fc.oneof<fc.WeightedArbitrary<Step>[]>(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('add'), tab, group }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('withdraw'), tab, item: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('close'), tab }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('reload'), tab }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constantFrom('offline', 'online', 'settle', 'wait', 'lose receipts'),
    }),
  },
)
/** The delays of locks and commands, in milliseconds. They are used in order, and then again from the first. */
const delays = fc.array(fc.constantFrom(0, 0, 1, 30, 900), { minLength: 1, maxLength: 20 })

type Added = { readonly id: string; readonly text: string; readonly group: string; readonly tab: string }

function createRun(ms: readonly number[]) {
  const { browser, server, open } = setUp()
  const tabs = new Map<number, ReturnType<typeof open>>()
  const added: Added[] = []
  const withdrawn = new Set<string>()
  let drawn = 0
  const delay = () => ms[drawn++ % ms.length] ?? 0
  browser.lockMs = delay
  server.delayMs = delay

  const pageIn = (number: number) => {
    const page = tabs.get(number) ?? open()
    tabs.set(number, page)
    return page
  }
  async function take(one: Step): Promise<void> {
    switch (one.type) {
      case 'settle':
        return browser.settle()
      case 'wait':
        return browser.advance(2 * graceMs)
      case 'offline':
        server.isReachable = false
        return
      case 'online':
        return server.goOnline()
      case 'lose receipts':
        server.losesReceipts = true
        return
      case 'reload':
        tabs.set(one.tab, pageIn(one.tab).reload())
        return
      case 'close':
        pageIn(one.tab).close()
        tabs.delete(one.tab)
        return
      case 'withdraw': {
        const { outbox } = pageIn(one.tab)
        const id = outbox.get()[one.item]?.commandId ?? ''
        withdrawn.add(id)
        return outbox.withdraw(id)
      }
      case 'add': {
        const { id: tab, add } = pageIn(one.tab)
        const text = String(added.length)
        added.push({ id: add(text, one.group), text, group: one.group, tab })
      }
    }
  }
  return { browser, server, open, take, added, withdrawn }
}

it('an outbox in several tabs makes each item take effect once, and the items of a tab in order, whatever is closed, reloaded or cut', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), delays, async (steps, ms) => {
      const { browser, server, open, take, added, withdrawn } = createRun(ms)
      for (const one of steps) await take(one)
      server.losesReceipts = false
      server.goOnline()
      const last = open()
      await browser.advance(60 * graceMs)

      const effects = server.effects.map(({ text }) => text)
      expect(new Set(effects).size).toBe(effects.length)
      const kept = added.filter(({ id }) => !withdrawn.has(id))
      expect(effects).toEqual(expect.arrayContaining(kept.map(({ text }) => text)))
      for (const { tab, group } of kept) {
        const sequence = kept.filter((one) => one.tab === tab && one.group === group).map(({ text }) => text)
        expect(effects.filter((text) => sequence.includes(text))).toEqual(sequence)
      }
      expect(last.texts()).toEqual([])
      expect(browser.entries.size).toBe(0)
    }),
    { numRuns: Number(process.env.PARLEY_PROPERTY_RUNS ?? 60) },
  )
})
