import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { permission } from '../../core/host-under-test.ts'
import { comparable } from '../../transcripts/turn-under-test.ts'
import { type ChatUnderTest, chatUnderTest } from './chat-under-test.ts'

let chat: ChatUnderTest
beforeAll(async () => {
  chat = await chatUnderTest()
})
afterAll(() => chat?.[Symbol.asyncDispose]())

let files = 0
const newFile = () => `effect-${++files}`

describe.each([6, 7] as const)('two tabs of version %i on one chat', (sdk) => {
  it('each show the actions of the other', async () => {
    const page = chat.page(sdk)
    const file = newFile()
    const gate = `tabs-${sdk}`
    await page.say([permission(file), { type: 'wait', gate }, { type: 'text', text: 'Written.' }])
    await page.asked()
    const other = chat.page(sdk, { id: page.id, messages: page.messages })
    await page.decide(page.tools()[0], true)
    await chat.session(page.id).when(({ requests }) => requests.length === 0)
    const resuming = other.chat.resumeStream()
    await other.when('resumed', (it) => it.tools('output-available').length === 1)
    chat.under.gates.open(gate)
    await resuming
    await Promise.all([page.ended(), other.ended()])
    expect(page.messages).toEqual(await chat.messages(page.id))
    const [mine, theirs] = [page.last, other.last].map((message) => comparable(message, sdk))
    expect(theirs).toEqual(mine)
  })

  it('may both answer: the same answer counts once, a different one is refused', async () => {
    const page = chat.page(sdk)
    const file = newFile()
    const gate = `answers-${sdk}`
    await page.say([permission(file), { type: 'wait', gate }, { type: 'text', text: 'Written.' }])
    await page.asked()
    const [same, other] = [0, 1].map(() => chat.page(sdk, { id: page.id, messages: page.messages }))
    await page.decide(page.tools()[0], true)
    await chat.session(page.id).when(({ requests }) => requests.length === 0)
    await other?.decide(other.tools()[0], false)
    await other?.when('refused', (it) => it.chat.status === 'error')
    expect(JSON.parse(other?.chat.error?.message ?? '')).toMatchObject({
      error: { code: 'conflict', details: { outcome: 'allowed' } },
    })
    await same?.decide(same.tools()[0], true)
    await same?.when('going on', (it) => it.tools('output-available').length === 1)
    chat.under.gates.open(gate)
    await Promise.all([page.ended(), same?.ended()])
    expect(chat.under.runs(file)).toBe(1)
    expect(await chat.session(page.id).events('permission.resolved')).toHaveLength(1)
    expect(same?.messages).toEqual(page.messages)
  })

  it('each get their own response when a message waits for another turn', async () => {
    const page = chat.page(sdk)
    const gate = `queue-${sdk}`
    const first = page.say([
      { type: 'wait', gate },
      { type: 'text', text: 'first' },
    ])
    await page.when('begun', (it) => it.chat.messages.length === 2)
    const other = chat.page(sdk, { id: page.id, messages: page.messages })
    const second = other.say('second')
    await chat.session(page.id).when(({ queue }) => queue.length === 1)
    chat.under.gates.open(gate)
    await Promise.all([first, second])
    expect(page.text).toBe('first')
    expect(other.text).toBe('second')
    expect((await chat.messages(page.id)).map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
    ])
  })

  it('get an error when a queued message is paused because the turn before it was stopped', async () => {
    const page = chat.page(sdk)
    const first = page.say([{ type: 'hang' }])
    await page.when('begun', (it) => it.chat.messages.length === 2)
    const other = chat.page(sdk, { id: page.id, messages: page.messages })
    const second = other.say('second')
    await chat.session(page.id).when(({ queue }) => queue.length === 1)
    await chat.server.ask(`/api/chat/${encodeURIComponent(page.id)}/stop`, { method: 'POST' })
    await Promise.all([first, second])
    expect(other.chat.status).toBe('error')
    expect(other.chat.error?.message).toContain('Your message is paused')
    const session = chat.session(page.id)
    expect(await session.when(({ turn }) => !turn)).toMatchObject({ turns: 1, queue: [{ paused: true }] })
    await session.command({ type: 'queue.resume' })
    await session.idle()
    expect((await session.texts()).at(-1)).toBe('second')
  })

  it('get an error when the turn before a queued message waits for an answer', async () => {
    const page = chat.page(sdk)
    const gate = `blocked-${sdk}`
    const first = page.say([{ type: 'wait', gate }, permission(newFile())])
    await page.when('begun', (it) => it.chat.messages.length === 2)
    const other = chat.page(sdk, { id: page.id, messages: page.messages })
    const second = other.say('second')
    await chat.session(page.id).when(({ queue }) => queue.length === 1)
    chat.under.gates.open(gate)
    await Promise.all([first, second])
    expect(other.chat.status).toBe('error')
    expect(other.chat.error?.message).toContain('waits for an answer')
    expect((await chat.messages(page.id)).map(({ role }) => role)).toEqual(['user', 'assistant'])
    await page.decide(page.tools()[0], true)
    await page.ended()
    await chat.session(page.id).idle()
    expect((await chat.messages(page.id)).map(({ role }) => role)).toHaveLength(4)
  })
})
