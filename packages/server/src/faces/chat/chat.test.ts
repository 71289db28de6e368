import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { permission } from '../../core/host-under-test.ts'
import { refusalOfMessages } from '../../transcripts/ai-sdk-under-test.ts'
import { type ChatUnderTest, chatUnderTest, type Page } from './chat-under-test.ts'

let chat: ChatUnderTest
beforeAll(async () => {
  chat = await chatUnderTest()
})
afterAll(() => chat?.[Symbol.asyncDispose]())

const question = {
  type: 'question',
  questions: [
    {
      id: 'colour',
      header: 'Colour',
      text: 'Which colour?',
      options: [{ label: 'red' }, { label: 'blue' }],
      multiple: false,
      freeText: false,
    },
  ],
}
let files = 0
const newFile = () => `effect-${++files}`
async function holdsTheSame(page: Page): Promise<void> {
  const messages = await chat.messages(page.id)
  expect(page.messages).toEqual(messages)
  expect(await refusalOfMessages(messages)).toBeUndefined()
}

describe.each([6, 7] as const)('a stock page of version %i', (sdk) => {
  it('creates a session, streams the text of its agent, and sends a second message', async () => {
    const page = chat.page(sdk)
    await page.say([
      { type: 'thinking', text: 'let me see' },
      { type: 'text', text: 'I look.' },
      { type: 'tool', name: 'Read', kind: 'read', input: { path: 'a' }, output: ['one', 'two'] },
      { type: 'text', text: 'I have looked.' },
    ])
    expect(page.chat.status).toBe('ready')
    expect(page.last.parts).toMatchObject([
      { type: 'step-start' },
      { type: 'reasoning', text: 'let me see', state: 'done' },
      { type: 'text', text: 'I look.' },
      { type: 'dynamic-tool', toolName: 'Read', state: 'output-available', output: 'onetwo' },
      { type: 'step-start' },
      { type: 'text', text: 'I have looked.' },
    ])
    expect(page.last.metadata).toMatchObject({
      session: chat.session(page.id).id,
      agent: 'scripted',
      model: 'scripted-large',
      outcome: 'completed',
    })
    await page.say('and now?')
    expect(page.text).toBe('and now?')
    await holdsTheSame(page)
    const session = chat.session(page.id)
    expect(await session.events('prompt.submitted')).toHaveLength(2)
    expect(await session.events('session.created')).toHaveLength(1)
  })

  it('shows text before the turn has ended', async () => {
    const page = chat.page(sdk)
    const gate = `half-${sdk}`
    const saying = page.say([
      { type: 'text', text: 'one two' },
      { type: 'wait', gate },
      { type: 'text', text: ' three' },
    ])
    await page.when('half said', (it) => it.chat.messages.length === 2 && it.text === 'one two')
    expect(page.chat.status).toBe('streaming')
    chat.under.gates.open(gate)
    await saying
    expect(page.text).toBe('one two three')
  })

  it('approves a call, which then runs once, in the same message', async () => {
    const page = chat.page(sdk)
    const file = newFile()
    await page.say([{ type: 'text', text: 'I write.' }, permission(file), { type: 'text', text: 'Written.' }])
    await page.asked()
    expect(chat.under.runs(file)).toBe(0)
    await holdsTheSame(page)
    const [asked] = page.tools()
    expect(page.last.parts).toContainEqual(
      expect.objectContaining({
        type: 'data-permission',
        data: expect.objectContaining({ tool: 'Write', options: expect.any(Array), readOnly: false }),
      }),
    )
    await page.decide(asked, true)
    await page.ended()
    expect(chat.under.runs(file)).toBe(1)
    expect(page.messages).toHaveLength(2)
    expect(page.tools()).toMatchObject([{ state: 'output-available', approval: { approved: true } }])
    expect(page.text).toBe('I write.Written.')
    await holdsTheSame(page)
  })

  it('denies a call with a reason', async () => {
    const page = chat.page(sdk)
    const file = newFile()
    await page.say([permission(file, { reply: { denied: 'As you wish.' } })])
    await page.asked()
    await page.decide(page.tools()[0], false, { reason: 'not that file' })
    await page.ended()
    expect(chat.under.runs(file)).toBe(0)
    expect(page.tools()).toMatchObject([
      { state: 'output-denied', approval: { approved: false, reason: 'not that file' } },
    ])
    expect(page.text).toBe('As you wish.')
    const [resolved] = await chat.session(page.id).events('permission.resolved')
    expect(resolved).toMatchObject({ outcome: 'denied', message: 'not that file', by: 'person' })
    await holdsTheSame(page)
  })

  it('is asked about two parallel calls, and answers each one separately', async () => {
    const page = chat.page(sdk)
    const [yes, no] = [newFile(), newFile()]
    await page.say([
      { type: 'parallel', calls: [permission(yes), permission(no)] },
      { type: 'text', text: 'Both.' },
    ])
    await page.asked(2)
    await page.decide(page.tools()[0], true)
    expect(chat.under.runs(yes)).toBe(0)
    await page.decide(page.tools()[1], false)
    await page.ended()
    expect([chat.under.runs(yes), chat.under.runs(no)]).toEqual([1, 0])
    expect(page.tools().map(({ state }) => state)).toEqual(['output-available', 'output-denied'])
    await holdsTheSame(page)
  })

  it('is asked while another parallel call still runs', async () => {
    const page = chat.page(sdk)
    const file = newFile()
    const calls = [{ type: 'tool', name: 'Slow', order: 'call-only' }, permission(file)]
    await page.say([
      { type: 'parallel', calls },
      { type: 'text', text: 'Done.' },
    ])
    await page.asked()
    await page.decide(page.tools('approval-requested')[0], true)
    await page.ended()
    expect(chat.under.runs(file)).toBe(1)
    await holdsTheSame(page)
  })

  it.each([
    ['just the label', 'blue'],
    ['the answers', { answers: { colour: 'blue' } }],
    ['the answers by question', { colour: 'blue' }],
  ])('answers a question with its output: %s', async (_, output) => {
    const page = chat.page(sdk)
    await page.say([{ ...question, tool: 'AskUserQuestion' }])
    const [asked] = page.tools()
    expect(asked).toMatchObject({ toolName: 'question', state: 'input-available', providerExecuted: false })
    await page.chat.addToolOutput({ tool: 'question', toolCallId: asked?.toolCallId, output })
    await page.ended()
    expect(page.text).toContain('You answered: Colour: blue.')
    expect(page.tools()).toMatchObject([
      { state: 'output-available', output: { answers: { colour: 'blue' } } },
    ])
    await holdsTheSame(page)
  })

  it('answers a question without a tool call, at the very end of a turn', async () => {
    const page = chat.page(sdk)
    await page.say([question, { type: 'end' }])
    await page.chat.addToolOutput({
      tool: 'question',
      toolCallId: page.tools()[0]?.toolCallId,
      output: 'red',
    })
    await page.ended()
    await holdsTheSame(page)
  })

  it('answers a request of a subagent', async () => {
    const page = chat.page(sdk)
    const file = newFile()
    await page.say([
      { type: 'subagent', title: 'help', steps: [{ type: 'text', text: 'in' }, permission(file)] },
    ])
    await page.asked()
    await page.decide(page.tools('approval-requested')[0], true)
    await page.ended()
    expect(chat.under.runs(file)).toBe(1)
    expect(page.text).toBe('')
    expect(page.last.parts.filter(({ type }) => type === 'data-subagent')).toHaveLength(2)
    await holdsTheSame(page)
  })

  it('stops the turn; closing the response does not', async () => {
    const page = chat.page(sdk)
    const saying = page.say([{ type: 'text', text: 'on my way' }, { type: 'hang' }])
    await page.when('said', (it) => it.chat.messages.length === 2 && it.text === 'on my way')
    await page.chat.stop()
    await saying
    const session = chat.session(page.id)
    expect((await session.state()).turn).toBeDefined()
    const { status } = await chat.server.ask(`/api/chat/${encodeURIComponent(page.id)}/stop`, {
      method: 'POST',
    })
    expect(status).toBe(204)
    const { lastTurn } = await session.idle()
    expect(lastTurn?.outcome).toBe('cancelled')
  })

  it('receives the end of a turn that was stopped', async () => {
    const page = chat.page(sdk)
    const saying = page.say([{ type: 'text', text: 'on my way' }, { type: 'hang' }])
    await page.when('said', (it) => it.chat.messages.length === 2 && it.text === 'on my way')
    await chat.server.ask(`/api/chat/${encodeURIComponent(page.id)}/stop`, { method: 'POST' })
    await saying
    await page.ended('cancelled')
    expect(page.chat.status).toBe('ready')
    await holdsTheSame(page)
  })

  it('resumes in the middle of a turn, with all text so far', async () => {
    const page = chat.page(sdk)
    const gate = `resume-${sdk}`
    const saying = page.say([
      { type: 'tool', name: 'Read' },
      { type: 'text', text: 'one two' },
      { type: 'wait', gate },
      { type: 'text', text: ' three' },
    ])
    await page.when('half said', (it) => it.chat.messages.length === 2 && it.text === 'one two')
    const reloaded = chat.page(sdk, { id: page.id, messages: await chat.messages(page.id) })
    const resuming = reloaded.chat.resumeStream()
    const fresh = chat.page(sdk, { id: page.id })
    const joining = fresh.chat.resumeStream()
    await reloaded.when('resumed', (it) => it.chat.status === 'streaming' && it.text === 'one two')
    await fresh.when('resumed', (it) => it.chat.messages.length === 1 && it.text === 'one two')
    chat.under.gates.open(gate)
    await Promise.all([saying, resuming, joining])
    expect(reloaded.messages).toEqual(page.messages)
    expect(fresh.messages).toEqual(page.messages.slice(1))
    await holdsTheSame(reloaded)
  })

  it('finds nothing to resume when no turn runs and when there is no session', async () => {
    const page = chat.page(sdk)
    await page.chat.resumeStream()
    expect(page.chat.status).toBe('ready')
    await page.say('hello')
    const before = page.messages
    await page.chat.resumeStream()
    expect(page.messages).toEqual(before)
    expect(page.errors).toEqual([])
  })

  it('can answer directly after a reload', async () => {
    const page = chat.page(sdk)
    const file = newFile()
    await page.say([{ type: 'text', text: 'I write.' }, permission(file), { type: 'text', text: 'Written.' }])
    await page.asked()
    const reloaded = chat.page(sdk, { id: page.id, messages: await chat.messages(page.id) })
    await reloaded.decide(reloaded.tools()[0], true)
    await reloaded.ended()
    expect(reloaded.text).toBe('I write.Written.')
    expect(chat.under.runs(file)).toBe(1)
    await holdsTheSame(reloaded)
  })

  it('shows a turn that was started elsewhere, even in a session that no page created', async () => {
    const session = await chat.under.create()
    const gate = `elsewhere-${sdk}`
    await session.submit({ type: 'text', text: 'hello' }, { type: 'wait', gate })
    const page = chat.page(sdk, { id: session.id })
    const resuming = page.chat.resumeStream()
    await page.when('joined', (it) => it.chat.messages.length === 1 && it.text === 'hello')
    chat.under.gates.open(gate)
    await resuming
    expect(page.messages).toEqual((await chat.messages(session.id)).slice(1))
    await page.say('and on')
    expect((await session.events('prompt.submitted')).length).toBe(2)
  })

  it('shows why a turn failed', async () => {
    const page = chat.page(sdk)
    const error = { code: 'agent_failed', message: 'The model is overloaded.' }
    await page.say([
      { type: 'text', text: 'I try.' },
      { type: 'end', outcome: 'failed', error },
    ])
    expect(page.chat.status).toBe('error')
    expect(page.chat.error?.message).toContain('The model is overloaded.')
    expect(page.last.metadata).toMatchObject({ outcome: 'failed', error: { code: 'agent_failed' } })
    await holdsTheSame(page)
    await page.say('again')
    expect(page.text).toBe('again')
    await holdsTheSame(page)
  })

  it('sends images and files, and gets them back unchanged', async () => {
    const page = chat.page(sdk)
    const url = 'data:image/png;base64,iVBORw0KGgo='
    const image = { type: 'file', mediaType: 'image/png', filename: 'cat.png', url }
    const note = {
      type: 'file',
      mediaType: 'text/plain',
      filename: 'a.txt',
      url: 'data:text/plain;base64,aGk=',
    }
    await page.chat.sendMessage({ text: 'look', files: [image, note] })
    expect(page.text).toContain('the image cat.png (image/png) and the file a.txt')
    await holdsTheSame(page)
  })

  it('allows a call for the whole session with the options of an answer', async () => {
    const page = chat.page(sdk)
    const file = newFile()
    await page.say([permission(file)])
    await page.asked()
    const { approval } = page.tools()[0] ?? {}
    const options = { body: { permissions: { [approval?.id ?? '']: { scope: 'session' } } } }
    await page.decide(page.tools()[0], true, { options })
    await page.ended()
    await page.say([permission(file)])
    await page.ended()
    expect(chat.under.runs(file)).toBe(2)
    expect(page.tools()).toMatchObject([{ state: 'output-available' }])
    expect(page.tools()[0]).not.toHaveProperty('approval')
    await holdsTheSame(page)
  })

  it('that sends a message instead of an answer cancels the turn that asked', async () => {
    const page = chat.page(sdk)
    const file = newFile()
    await page.say([permission(file)])
    await page.asked()
    await page.say('something else')
    await page.ended()
    expect(page.text).toBe('something else')
    const ends = await chat.session(page.id).events('turn.ended')
    expect(ends.map(({ outcome }) => outcome)).toEqual(['cancelled', 'completed'])
    expect(chat.under.runs(file)).toBe(0)
    expect(await refusalOfMessages(await chat.messages(page.id))).toBeUndefined()
  })

  it('changes model and mode with a message; another agent is refused', async () => {
    const page = chat.page(sdk, { body: { mode: 'ask' } })
    await page.say('hello')
    const body = { model: 'scripted-small', mode: 'plan' }
    await page.chat.sendMessage({ text: 'hello again' }, { body })
    expect(page.last.metadata).toMatchObject({ model: 'scripted-small' })
    expect((await chat.session(page.id).state()).requested).toMatchObject(body)
    await page.chat.sendMessage({ text: 'hello there' }, { body: { agent: 'other' } })
    expect(page.chat.status).toBe('error')
    expect(JSON.parse(page.chat.error?.message ?? '')).toMatchObject({ error: { code: 'conflict' } })
  })

  it('cannot edit a message or regenerate a response', async () => {
    const page = chat.page(sdk)
    await page.say('hello')
    const { messages } = page
    const refused = () => expect(JSON.parse(page.chat.error?.message ?? '').error.code).toBe('not_supported')
    await page.chat.sendMessage({ text: 'goodbye', messageId: messages[0]?.id })
    refused()
    page.chat.messages = messages
    await page.chat.regenerate()
    refused()
    expect(await chat.session(page.id).events('prompt.submitted')).toHaveLength(1)
  })

  it('can regenerate a message that never arrived', async () => {
    const page = chat.page(sdk)
    page.chat.messages = [{ id: 'lost', role: 'user', parts: [{ type: 'text', text: 'hello' }] }]
    await page.chat.regenerate()
    expect(page.text).toBe('hello')
    await holdsTheSame(page)
  })
})
