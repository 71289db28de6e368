import type { PromptPart } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { FakeAttachments, FakeBrowser } from '../../testing/fake-browser.ts'
import { createPromptDrafts } from './prompt-draft.ts'

const image = (name: string): PromptPart => ({ type: 'image', mimeType: 'image/png', data: 'AAAA', name })
const place = { followers: ['prm_2', 'prm_3'], paused: true }

function setUp() {
  const browser = new FakeBrowser()
  const attachments = new FakeAttachments()
  /** The drafts of a page that has just been loaded. */
  const load = () => createPromptDrafts({ storage: browser.openTab().storage, attachments })
  return { browser, attachments, load }
}

describe('a draft', () => {
  it('survives a reload with its attachments and its place, one for each session', async () => {
    const { browser, load } = setUp()
    load()('ses_1').putBack([{ type: 'text', text: 'words' }, image('cat')], place)
    await browser.settle()
    const draftOf = load()
    const draft = draftOf('ses_1')
    expect(draftOf('ses_1')).toBe(draft)
    await browser.settle()
    expect(draft.text.get()).toBe('words')
    expect(draft.attachments.get()).toMatchObject([{ part: image('cat') }])
    expect(draft.place.get()).toEqual(place)
    expect(draftOf('ses_2').text.get()).toBe('')
  })

  it('keeps an attachment that is added before the stored ones are read', async () => {
    const { browser, attachments, load } = setUp()
    attachments.entries.set('ses_1', [image('cat')])
    const draft = load()('ses_1')
    draft.putBack([image('dog')])
    await browser.settle()
    expect(draft.attachments.get().map(({ part }) => part)).toEqual([image('cat'), image('dog')])
    expect(attachments.entries.get('ses_1')).toHaveLength(2)
  })

  it('loses its place when it is emptied, and has the earliest place of several edited prompts', async () => {
    const { browser, load } = setUp()
    const draft = load()('ses_1')
    await browser.settle()
    draft.putBack([{ type: 'text', text: 'one' }, image('cat')], place)
    draft.putBack([{ type: 'text', text: 'two' }], { followers: ['prm_3'], paused: false })
    expect(draft.text.get()).toBe('two\n\none')
    expect(draft.place.get()).toEqual(place)
    draft.text.set('')
    expect(draft.place.get()).toEqual(place)
    draft.attachments.set([])
    expect(draft.place.get()).toEqual({ followers: [], paused: false })
    expect(browser.entries.size).toBe(0)
  })

  it('leaves nothing in storage after it is cleared', async () => {
    const { browser, attachments, load } = setUp()
    const draft = load()('ses_1')
    draft.putBack([{ type: 'text', text: 'one' }, image('cat')], place)
    await browser.settle()
    expect(browser.entries.size).toBe(2)
    draft.clear()
    expect(browser.entries.size).toBe(0)
    expect(attachments.entries.size).toBe(0)
  })

  it.each(['full', 'blocked'] as const)('works while storage is %s', (storageIs) => {
    const { browser, load } = setUp()
    browser.storageIs = storageIs
    const draft = load()('ses_1')
    draft.putBack([{ type: 'text', text: 'words' }], place)
    expect(draft.text.get()).toBe('words')
    draft.clear()
    expect(draft.text.get()).toBe('')
  })
})
