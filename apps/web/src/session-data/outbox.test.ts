import { ParleyError } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { graceMs } from '../../testing/fake-browser.ts'
import { lateMs, type Note, setUp } from '../../testing/note-outbox.ts'
import { Outbox } from './outbox.ts'

const conflict = new ParleyError('conflict', 'It was answered elsewhere.')

describe('an outbox', () => {
  it('sends an item once and removes it from memory and storage', async () => {
    const { browser, server, open, effects } = setUp()
    const { add, texts } = open()
    add('one')
    expect(browser.entries.size).toBe(1)
    await browser.settle()
    expect(effects()).toEqual(['one'])
    expect(server.arrivals).toHaveLength(1)
    expect(texts()).toEqual([])
    expect(browser.entries.size).toBe(0)
  })

  it('does nothing before it is started', async () => {
    const { browser, server } = setUp()
    browser.entries.set('parley:note:x', 'garbage')
    const tab = browser.openTab()
    const outbox = new Outbox<Note>({
      name: 'note',
      storage: tab.storage,
      locks: tab.locks,
      clock: tab.clock,
      tab: () => tab.id,
      isContent: () => true,
      send: async () => expect.unreachable(),
      onRefused: () => 'remove',
    })
    outbox.add({ text: 'one', group: 'a' })
    await browser.settle()
    expect(server.arrivals).toEqual([])
    expect(browser.entries.size).toBe(2)
  })

  it('keeps items while the server is unreachable, and sends them in order when it is back', async () => {
    const { browser, server, open, effects, late } = setUp()
    server.isReachable = false
    const { add, texts, outbox } = open()
    for (const text of ['one', 'two', 'three']) add(text)
    await browser.advance(lateMs)
    expect(texts()).toEqual(['one', 'two', 'three'])
    expect(outbox.get().every(({ state, waited }) => state === 'late' && waited)).toBe(true)
    expect(late).toEqual(['one', 'two', 'three'])
    server.goOnline()
    await browser.settle()
    expect(effects()).toEqual(['one', 'two', 'three'])
    expect(texts()).toEqual([])
  })

  it('does not mark an item that is accepted in time as late', async () => {
    const { browser, open, late } = setUp()
    open().add('one')
    await browser.advance(lateMs)
    expect(late).toEqual([])
  })

  it('sends items of other sequences while an item waits', async () => {
    const { browser, effects, open, server } = setUp()
    const first = open()
    server.losesReceipts = true
    first.add('one', 'a')
    await browser.settle()
    server.losesReceipts = false
    first.add('two', 'a')
    first.add('three', 'b')
    await browser.settle()
    expect(effects()).toEqual(['one', 'three'])
    server.goOnline()
    await browser.settle()
    expect(effects()).toEqual(['one', 'three', 'two'])
  })

  it('aborts an item that is withdrawn, and continues with the next', async () => {
    const { browser, server, open, effects } = setUp()
    server.isReachable = false
    const { add, outbox } = open()
    const id = add('one')
    add('two')
    await browser.settle()
    outbox.withdraw(id)
    server.goOnline()
    await browser.settle()
    expect(effects()).toEqual(['two'])
    expect(browser.entries.size).toBe(0)
  })
})

it('an item does not overtake the first of its sequence when the one between them is withdrawn', async () => {
  const { browser, server, open } = setUp()
  server.isReachable = false
  const { add, outbox } = open()
  const [first, second] = ['one', 'two', 'three'].map((text) => add(text))
  outbox.withdraw(second ?? '')
  await browser.settle()
  server.losesReceipts = true
  server.goOnline()
  await browser.settle()
  expect(server.arrivals).toEqual([first])
})

describe('an item that the server refuses', () => {
  it('is removed with the error as the reason, and the next one is sent', async () => {
    const { browser, server, open, effects, refused } = setUp()
    server.refusal = ({ text }) => (text === 'one' ? conflict : undefined)
    const { add, texts } = open()
    add('one')
    add('two')
    await browser.settle()
    expect(refused).toEqual([conflict])
    expect(effects()).toEqual(['two'])
    expect(texts()).toEqual([])
    expect(browser.entries.size).toBe(0)
  })

  it('is held if the caller says so, across reloads, until it is confirmed', async () => {
    const { browser, server, open, effects } = setUp({ onRefused: () => ({ hold: 'busy' }) })
    server.refusal = () => new ParleyError('busy', 'Busy.')
    const first = open()
    const id = first.add('one')
    await browser.settle()
    const second = first.reload()
    await browser.advance(10 * graceMs)
    expect(server.arrivals).toHaveLength(1)
    expect(second.outbox.get()).toMatchObject([{ state: 'held', waited: true, problem: 'busy' }])
    server.refusal = () => undefined
    second.outbox.sendHeld(id)
    expect(second.outbox.get()).toMatchObject([{ state: 'late', waited: true }])
    expect(second.outbox.get()[0]).not.toHaveProperty('problem')
    await browser.settle()
    expect(effects()).toEqual(['one'])
    expect(server.arrivals).toEqual([id, id])
  })
})

describe('a reload', () => {
  it('sends the items again under the same ids, in order, at once', async () => {
    const { browser, server, open, effects } = setUp()
    server.isReachable = false
    const first = open()
    const ids = [first.add('one'), first.add('two')]
    await browser.settle()
    const second = first.reload()
    await browser.settle()
    expect(second.texts()).toEqual(['one', 'two'])
    server.goOnline()
    await browser.settle()
    expect(effects()).toEqual(['one', 'two'])
    expect(server.arrivals).toEqual(ids)
  })

  it('between the effect and its receipt repeats the command, which has no second effect', async () => {
    const { browser, server, open, effects } = setUp()
    server.losesReceipts = true
    const first = open()
    const id = first.add('one')
    await browser.settle()
    server.losesReceipts = false
    const second = first.reload()
    await browser.settle()
    expect(server.arrivals).toEqual([id, id])
    expect(effects()).toEqual(['one'])
    expect(second.texts()).toEqual([])
  })
})

describe('two tabs', () => {
  it('show the same items, and only the tab of an item sends it', async () => {
    const { browser, server, open, effects } = setUp()
    server.isReachable = false
    const [one, other] = [open(), open()]
    one.add('one')
    await browser.advance(1)
    other.add('two', 'b')
    await browser.advance(10 * graceMs)
    expect(one.texts()).toEqual(['one', 'two'])
    expect(other.texts()).toEqual(['one', 'two'])
    server.goOnline()
    await browser.settle()
    expect(effects().sort()).toEqual(['one', 'two'])
    expect(server.arrivals).toHaveLength(2)
    expect([...one.texts(), ...other.texts()]).toEqual([])
  })

  it('can withdraw items of each other', async () => {
    const { browser, server, open, effects } = setUp()
    server.isReachable = false
    const [one, other] = [open(), open()]
    const id = one.add('one')
    await browser.settle()
    other.outbox.withdraw(id)
    await browser.settle()
    expect(one.texts()).toEqual([])
    expect(one.outbox.isSending(id)).toBe(false)
    server.goOnline()
    await browser.settle()
    expect(effects()).toEqual([])
  })

  it('with the same id, as after the duplication of a tab, send an item once', async () => {
    const { browser, server, open, effects } = setUp()
    server.isReachable = false
    const one = open()
    one.add('one')
    one.add('two')
    const duplicate = open(browser.openTab(one.id))
    await browser.settle()
    server.goOnline()
    await browser.settle()
    expect(effects()).toEqual(['one', 'two'])
    expect(server.arrivals).toHaveLength(2)
    expect(duplicate.texts()).toEqual([])
  })
})

describe('a duplicate of a tab', () => {
  it('does not send an item that was held while the duplicate waited for its lock', async () => {
    const { browser, server, open } = setUp({ onRefused: () => ({ hold: 'busy' }) })
    server.isReachable = false
    server.refusal = () => new ParleyError('busy', 'Busy.')
    const one = open()
    const id = one.add('one')
    const duplicate = open(browser.openTab(one.id))
    await browser.settle()
    server.goOnline()
    await browser.settle()
    expect(server.arrivals).toEqual([id])
    expect(duplicate.outbox.get()).toMatchObject([{ state: 'held' }])
  })
})

describe('an item whose tab was closed', () => {
  it('is sent by another tab, once, in order', async () => {
    const { browser, server, open, effects } = setUp()
    server.isReachable = false
    const first = open()
    const others = [open(), open()]
    const ids = ['one', 'two', 'three'].map((text) => first.add(text))
    await browser.settle()
    first.close()
    server.goOnline()
    await browser.advance(10 * graceMs)
    expect(effects()).toEqual(['one', 'two', 'three'])
    expect(server.arrivals).toEqual(ids)
    for (const { texts } of others) expect(texts()).toEqual([])
  })

  it('is not taken from a tab that only reloads, or that has not taken its lock yet', async () => {
    const abandoned: string[] = []
    const onAbandoned = ({ text }: Note) => {
      abandoned.push(text)
      return 'remove' as const
    }
    const { browser, server, open } = setUp({ onAbandoned })
    server.isReachable = false
    browser.lockMs = () => graceMs / 2
    const first = open()
    const other = open()
    first.add('one')
    await browser.advance(10 * graceMs)
    browser.lockMs = () => 0
    first.close()
    await browser.advance(graceMs - 1)
    open(browser.openTab(first.id))
    await browser.advance(10 * graceMs)
    expect(abandoned).toEqual([])
    expect(other.outbox.get()).toMatchObject([{ tab: first.id, state: 'late' }])
  })

  it('is held instead if the caller says so, and then sent by the tab that confirms it', async () => {
    const { browser, server, open, effects } = setUp({ onAbandoned: () => ({ hold: 'closed' }) })
    server.isReachable = false
    const first = open()
    const id = first.add('one')
    await browser.settle()
    first.close()
    server.goOnline()
    const later = open()
    await browser.advance(10 * graceMs)
    expect(effects()).toEqual([])
    expect(later.outbox.get()).toMatchObject([{ state: 'held', problem: 'closed' }])
    later.outbox.sendHeld(id)
    await browser.settle()
    expect(effects()).toEqual(['one'])
  })
})

describe('a sign-out', () => {
  it('stops the outbox: pending sends write nothing, and no tab sends cleared items', async () => {
    const { browser, server, open, effects, refused } = setUp()
    server.isReachable = false
    const [one, other] = [open(), open()]
    one.add('one')
    one.add('two')
    await browser.settle()
    one.outbox.stop()
    for (const key of [...browser.entries.keys()]) one.storage.remove(key)
    await browser.settle()
    expect(other.texts()).toEqual([])
    server.goOnline()
    await browser.advance(10 * graceMs)
    expect(effects()).toEqual([])
    expect(refused).toEqual([])
    expect(browser.entries.size).toBe(0)
  })
})

describe('accepted items', () => {
  it('stay in memory, up to the requested number of latest ones, and are never sent again', async () => {
    const { browser, server, open } = setUp({ keepSent: 2 })
    const one = open()
    for (const text of ['one', 'two', 'three']) one.add(text)
    await browser.settle()
    expect(one.outbox.get()).toMatchObject([
      { text: 'two', state: 'sent' },
      { text: 'three', state: 'sent' },
    ])
    expect(browser.entries.size).toBe(0)
    one.add('four', 'b')
    await browser.advance(10 * graceMs)
    expect(server.arrivals).toHaveLength(4)
    expect(one.reload().texts()).toEqual([])
  })
})
