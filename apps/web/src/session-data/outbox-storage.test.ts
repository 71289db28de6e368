import { describe, expect, it } from 'vitest'
import { graceMs } from '../../testing/fake-browser.ts'
import { lateMs, setUp } from '../../testing/note-outbox.ts'
import { createTabLocks } from '../base/browser-storage.ts'

describe('storage', () => {
  it.each(['full', 'blocked'] as const)(
    'that is %s loses no item while the page is open',
    async (storageIs) => {
      const { browser, server, open, effects } = setUp()
      server.isReachable = false
      browser.storageIs = storageIs
      const { add, texts } = open()
      open().add('elsewhere', 'b')
      add('one')
      add('two')
      await browser.advance(lateMs)
      expect(texts()).toEqual(['one', 'two'])
      server.goOnline()
      await browser.settle()
      expect(effects().sort()).toEqual(['elsewhere', 'one', 'two'])
      expect(texts()).toEqual([])
    },
  )

  it('that fills up later neither duplicates nor loses an item', async () => {
    const { browser, server, open, effects } = setUp()
    server.isReachable = false
    const { add, texts } = open()
    add('one')
    browser.storageIs = 'full'
    await browser.advance(lateMs)
    browser.storageIs = 'usable'
    open().add('other', 'b')
    await browser.settle()
    expect(texts()).toEqual(['one', 'other'])
    server.goOnline()
    await browser.settle()
    expect(effects().sort()).toEqual(['one', 'other'])
  })

  it('that becomes unreadable does not withdraw items', async () => {
    const { browser, server, open, effects } = setUp()
    server.isReachable = false
    const { add, texts } = open()
    add('one')
    open().add('two', 'b')
    browser.storageIs = 'blocked'
    await browser.settle()
    expect(texts()).toEqual(['one'])
    server.goOnline()
    await browser.settle()
    expect(effects()).toContain('one')
  })

  it('with invalid entries is cleaned at the start, and other keys are left alone', async () => {
    const { browser, open, server, effects } = setUp()
    server.isReachable = false
    const good = open()
    good.add('good')
    await browser.settle()
    const [[key, text]] = [...browser.entries] as [[string, string]]
    const { state, ...stateless } = JSON.parse(text)
    const bad = ['', 'null', '3', '"x"', '[]', '{', '{}', JSON.stringify(stateless), text]
    for (const [index, value] of bad.entries()) browser.entries.set(`parley:note:bad-${index}`, value)
    browser.entries.set('parley:notes', 'mine')
    const later = good.reload()
    expect([...browser.entries.keys()].sort()).toEqual([key, 'parley:notes'].sort())
    expect(later.texts()).toEqual(['good'])
    server.goOnline()
    await browser.settle()
    expect(effects()).toEqual(['good'])
  })

  it('keeps items that a newer version of the page has written, which this version does not send', async () => {
    const { browser, open, effects } = setUp()
    const first = open()
    const newer = { version: 2, commandId: 'x', tab: first.id, state: 'sending', text: 'new', group: 'a' }
    browser.entries.set('parley:note:x', JSON.stringify(newer))
    const later = first.reload()
    later.add('one')
    await browser.settle()
    expect(effects()).toEqual(['one'])
    expect(later.texts()).toEqual([])
    expect([...browser.entries]).toEqual([['parley:note:x', JSON.stringify(newer)]])
  })

  it('of an earlier version, whose items have no version, is read', async () => {
    const { browser, open, effects } = setUp()
    const tab = browser.openTab()
    const item = { commandId: 'x', tab: tab.id, state: 'sending', waited: false, text: 'old', group: 'a' }
    browser.entries.set('parley:note:x', JSON.stringify(item))
    open(tab)
    await browser.settle()
    expect(effects()).toEqual(['old'])
  })
})

describe('without usable locks', () => {
  const failing = { request: () => Promise.reject(new DOMException('no', 'InvalidStateError')) }
  const missing = () => undefined as unknown as LockManager

  it.each([
    ['because requests fail', () => failing],
    ['because the browser has none', missing],
  ])('%s, an outbox sends its items, and later those of a closed tab', async (_, manager) => {
    const { browser, open, effects } = setUp({ locks: createTabLocks(manager) })
    const first = open()
    first.add('one')
    await browser.settle()
    expect(effects()).toEqual(['one'])
    const second = open()
    first.add('two')
    first.close()
    await browser.advance(10 * graceMs)
    expect(second.texts()).toEqual(['two'])
    await browser.advance(120_000)
    expect(effects()).toEqual(['one', 'two'])
    expect(second.texts()).toEqual([])
  })

  it('for a moment, a tab still watches the items of another tab', async () => {
    let isFailing = true
    const granted = (_: string, __: object, work: (lock: Lock) => unknown) =>
      Promise.resolve(work({} as Lock))
    const manager = () => (isFailing ? failing : { request: granted }) as LockManager
    const { browser, open, effects } = setUp({ locks: createTabLocks(manager) })
    const first = open()
    const second = open()
    first.add('one')
    first.close()
    await browser.advance(graceMs)
    isFailing = false
    await browser.advance(120_000)
    expect(effects()).toEqual(['one'])
    expect(second.texts()).toEqual([])
  })
})
