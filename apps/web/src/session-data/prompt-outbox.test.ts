import { ParleyError, type PromptPart } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import {
  FakeAttachments,
  FakeBrowser,
  FakeServer,
  type FakeTab,
  graceMs,
} from '../../testing/fake-browser.ts'
import { createPromptDrafts } from './prompt-draft.ts'
import { PromptOutbox } from './prompt-outbox.ts'

const text = (words: string): PromptPart => ({ type: 'text', text: words })
const image = (name: string): PromptPart => ({ type: 'image', mimeType: 'image/png', data: 'AAAA', name })

type Sent = { readonly parts: readonly PromptPart[]; readonly followers: readonly string[] }

function setUp() {
  const browser = new FakeBrowser()
  const attachments = new FakeAttachments()
  const server = new FakeServer<Sent>()
  const refused: unknown[] = []
  const open = (tab: FakeTab = browser.openTab()) => {
    const storages = { storage: tab.storage, attachments }
    const draftOf = createPromptDrafts(storages)
    const prompts = new PromptOutbox({
      ...storages,
      locks: tab.locks,
      clock: tab.clock,
      tab: () => tab.id,
      draftOf,
      send: ({ commandId, followers }, parts, signal) =>
        server.send(tab, { commandId, parts, followers }, signal),
      onRefused: (_, error) => refused.push(error),
    })
    prompts.start()
    const submit = (...parts: PromptPart[]) =>
      prompts.submit({ sessionId: 'ses_1', delivery: 'queue', parts, followers: ['prm_2'] })
    const reload = () => {
      tab.close()
      return open(browser.openTab(tab.id))
    }
    return { prompts, submit, draft: draftOf('ses_1'), reload, close: tab.close }
  }
  const texts = () => server.effects.map(({ parts }) => parts.map((part) => 'text' in part && part.text))
  return { browser, attachments, server, refused, open, texts }
}

describe('a prompt', () => {
  it('is sent with its attachments, which are then removed from storage', async () => {
    const { browser, attachments, server, open } = setUp()
    const { submit, prompts } = open()
    submit(text('look'), image('cat'))
    expect(attachments.entries.size).toBe(1)
    await browser.settle()
    expect(server.effects).toMatchObject([{ parts: [text('look'), image('cat')], followers: ['prm_2'] }])
    expect(prompts.get()).toEqual([])
    expect(attachments.entries.size).toBe(0)
    expect(browser.entries.size).toBe(0)
  })

  it('that waits during a reload keeps its attachments and its order', async () => {
    const { browser, server, open, attachments } = setUp()
    server.isReachable = false
    const first = open()
    first.submit(text('one'), image('cat'))
    first.submit(text('two'))
    await browser.settle()
    const { prompts } = first.reload()
    expect(prompts.get()).toMatchObject([{ attachmentCount: 1 }, { attachmentCount: 0 }])
    attachments.isSlow = true
    await browser.settle()
    server.goOnline()
    await browser.settle()
    expect(server.effects).toEqual([])
    attachments.finish()
    await browser.settle()
    expect(server.effects).toMatchObject([{ parts: [text('one'), image('cat')] }, { parts: [text('two')] }])
    expect(attachments.entries.size).toBe(0)
  })

  it('is sent with its attachments even if the browser cannot store them', async () => {
    const { browser, server, open, attachments } = setUp()
    attachments.isUsable = false
    browser.storageIs = 'blocked'
    open().submit(text('look'), image('cat'))
    await browser.settle()
    expect(server.effects).toMatchObject([{ parts: [text('look'), image('cat')] }])
  })

  it('that is withdrawn is not sent, and its attachments are removed', async () => {
    const { browser, server, open, attachments } = setUp()
    server.isReachable = false
    const { submit, prompts } = open()
    submit(text('look'), image('cat'))
    await browser.settle()
    prompts.withdraw(prompts.get()[0]?.commandId ?? '')
    server.goOnline()
    await browser.settle()
    expect(server.effects).toEqual([])
    expect(attachments.entries.size).toBe(0)
  })

  it('whose tab was closed is sent by another one', async () => {
    const { browser, server, open, texts } = setUp()
    server.isReachable = false
    const first = open()
    first.submit(text('one'))
    await browser.settle()
    first.close()
    open()
    server.goOnline()
    await browser.advance(2 * graceMs)
    expect(texts()).toEqual([['one']])
  })
})

describe('a refused prompt', () => {
  it('returns whole to its draft, before text that was written meanwhile, with its place and the reason', async () => {
    const { browser, server, open, refused, attachments } = setUp()
    const archived = new ParleyError('conflict', 'The session is archived.')
    server.refusal = () => archived
    const { submit, draft, prompts } = open()
    submit(text('the first'), image('cat'))
    draft.text.set('the second')
    await browser.settle()
    expect(draft.text.get()).toBe('the first\n\nthe second')
    expect(draft.attachments.get()).toMatchObject([{ part: image('cat') }])
    expect(draft.place.get()).toEqual({ followers: ['prm_2'], paused: false })
    expect(draft.refusal.get()).toBe('The session is archived.')
    expect(refused).toEqual([archived])
    expect(prompts.get()).toEqual([])
    expect([...attachments.entries.keys()]).toEqual(['ses_1'])

    server.refusal = () => undefined
    submit(text('again'))
    expect(draft.refusal.get()).toBeUndefined()
  })

  it('returns to the draft of one tab only', async () => {
    const { browser, server, open, refused } = setUp()
    server.isReachable = false
    server.refusal = () => new ParleyError('conflict', 'x')
    const tabs = [open(), open(), open()]
    tabs[0]?.submit(text('one'))
    await browser.settle()
    tabs[0]?.close()
    server.goOnline()
    await browser.advance(5 * graceMs)
    expect(refused).toHaveLength(1)
    expect(tabs.map(({ draft }) => draft.text.get()).filter(Boolean)).toEqual(['one'])
  })

  it('may also be a prompt whose attachments were lost', async () => {
    const { browser, server, open, attachments } = setUp()
    server.isReachable = false
    const first = open()
    first.submit(text('look'), image('cat'))
    await browser.settle()
    attachments.entries.clear()
    const { draft } = first.reload()
    server.goOnline()
    await browser.settle()
    expect(server.arrivals).toEqual([])
    expect(draft.text.get()).toBe('look')
    expect(draft.refusal.get()).toMatch(/^The attachments were not stored/)
  })
})

describe('prompts that an earlier version stored', () => {
  const old = { commandId: 'cmd_1', sessionId: 'ses_1', words: [text('old')], along: 0, delivery: 'queue' }

  it('are sent under their ids', async () => {
    const { browser, server, open, texts } = setUp()
    const second = { ...old, commandId: 'cmd_2', words: [text('with place')], followers: ['prm_9'] }
    browser.entries.set('parley:outbox', JSON.stringify({ prompts: [old, second] }))
    open()
    await browser.settle()
    expect(server.arrivals).toEqual(['cmd_1', 'cmd_2'])
    expect(texts()).toEqual([['old'], ['with place']])
    expect(server.effects[1]?.followers).toEqual(['prm_9'])
    expect(browser.entries.size).toBe(0)
  })

  it.each(['{', 'null', '[]', '{"prompts":3}', JSON.stringify({ prompts: [null, { commandId: 'cmd_1' }] })])(
    'are ignored if they are %s',
    async (entry) => {
      const { browser, server, open } = setUp()
      browser.entries.set('parley:outbox', entry)
      const { submit } = open()
      submit(text('new'))
      await browser.settle()
      expect(server.effects).toHaveLength(1)
      expect(browser.entries.size).toBe(0)
    },
  )
})

describe('a stored value that is not a prompt', () => {
  const stored = {
    commandId: 'cmd_1',
    tab: 'gone',
    state: 'sending',
    waited: false,
    sessionId: 'ses_1',
    textParts: [text('one')],
    attachmentCount: 0,
    delivery: 'queue',
    followers: [],
    paused: false,
  }

  it.each([
    { textParts: [null] },
    { textParts: ['one'] },
    { textParts: [{ type: 'text' }] },
    { textParts: [image('cat')] },
    { followers: [null] },
  ])('is removed: %j', async (fields) => {
    const { browser, server, open, refused } = setUp()
    browser.entries.set('parley:prompt:cmd_1', JSON.stringify({ ...stored, ...fields }))
    const { prompts } = open()
    await browser.advance(2 * graceMs)
    expect(prompts.get()).toEqual([])
    expect(server.arrivals).toEqual([])
    expect(refused).toEqual([])
    expect(browser.entries.size).toBe(0)
  })

  it.each([
    { words: [null] },
    { words: undefined },
    { followers: 'prm_1' },
    { followers: [1] },
    { sessionId: undefined },
  ])('is also ignored if an earlier version stored it: %j', async (changes) => {
    const { browser, server, open } = setUp()
    const old = { commandId: 'cmd_1', sessionId: 'ses_1', words: [text('one')], along: 0, delivery: 'queue' }
    browser.entries.set('parley:outbox', JSON.stringify({ prompts: [{ ...old, ...changes }] }))
    expect(open().prompts.get()).toEqual([])
    await browser.settle()
    expect(server.arrivals).toEqual([])
    expect(browser.entries.size).toBe(0)
  })

  it('does not affect a prompt of a closed tab', async () => {
    const { browser, open, texts } = setUp()
    browser.entries.set('parley:prompt:cmd_1', JSON.stringify(stored))
    open()
    await browser.advance(2 * graceMs)
    expect(texts()).toEqual([['one']])
  })
})

it('after a sign-out, a pending prompt is neither sent nor put back', async () => {
  const { browser, server, open, refused } = setUp()
  server.isReachable = false
  const { submit, prompts, draft } = open()
  submit(text('mine'), image('cat'))
  await browser.settle()
  prompts.stop()
  browser.entries.clear()
  server.goOnline()
  await browser.advance(2 * graceMs)
  expect(server.effects).toEqual([])
  expect(refused).toEqual([])
  expect(draft.text.get()).toBe('')
  expect(browser.entries.size).toBe(0)
})
