import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFailed } from 'vitest'
import { modelPrompt } from '../../packages/server/src/testing/model-by-prompt.ts'
import type { ModelAnswer, ModelServer } from '../../packages/server/src/testing/model-server.ts'
import { ChatPages, type ChatTab, type PageAgent } from './chat-pages-fixture.ts'
import { call, done } from './claude-fixture.ts'
import { eventually } from './console-page.ts'

/** Tests pages built with the real AI SDK in both major versions, in a real browser, with two real agents. */
let pages: ChatPages
beforeAll(async () => {
  pages = await ChatPages.start(refuse)
}, 180_000)
afterAll(() => pages?.[Symbol.asyncDispose]())

const refusal = 'This model answers nobody.'

function refuse(model: ModelServer): void {
  const error = { message: refusal, type: 'invalid_request_error', code: 'invalid_request' }
  const isMine = (last: string) => last.includes('Be refused.') && !last.includes('Hello.')
  model.script(
    ({ messages }) => isMine(JSON.stringify(messages.at(-1))),
    Array.from({ length: 20 }, () => ({ response: { error, status: 400 } })),
  )
}

const question = {
  question: 'Which colour?',
  header: 'Colour',
  multiSelect: false,
  options: [
    { label: 'red', description: 'warm' },
    { label: 'blue', description: 'cold' },
  ],
}

type Words = { readonly command: (line: string) => ModelAnswer; readonly ask: ModelAnswer }
const words: Record<PageAgent, Words> = {
  claude: {
    command: (command) => ({
      content: 'I will see to it.',
      ...call('Bash', { command, description: 'a command' }),
    }),
    ask: call('AskUserQuestion', { questions: [question] }),
  },
  opencode: {
    command: (command) => ({
      content: 'I will see to it.',
      ...call('bash', { command, description: 'a command' }),
    }),
    ask: call('question', { questions: [question] }),
  },
}
const thinking = { reasoning: 'Let me see.', content: 'One, two, three.' } as ModelAnswer
const long = { content: 'One, two, three, four, five, six, seven, eight.' }

it('a page contains no code of Parley', () => {
  expect(pages.madeFrom).toEqual([
    ['index.html', 'page.tsx'],
    ['index.html', 'page.tsx'],
  ])
})

it('a page of an origin that is not allowed gets nothing, even with the token', async () => {
  const { page, place } = await pages.open(6, 'claude')
  const [failed] = await Promise.all([
    page.waitForEvent('pageerror'),
    page.goto(place.address.replace('127.0.0.1', 'localhost')),
  ])
  expect(failed.message).toContain('Failed to fetch')
  await page.context().close()
})

describe.each([
  [6, 'claude'],
  [7, 'claude'],
  [6, 'opencode'],
  [7, 'opencode'],
] as const)('a page of version %i with %s', (sdk, agent) => {
  const { command, ask } = words[agent]

  // One chat for all tests, so that the agent is started once. After a failed test, the next test opens a new chat.
  let chat: ChatTab | undefined
  let tab: ChatTab
  let file: string
  beforeEach(async ({ task }) => {
    chat ??= await pages.open(sdk, agent)
    tab = chat
    file = join(tab.place.cwd, `file-${task.id}-${task.result?.retryCount ?? 0}`)
    onTestFailed(async () => {
      await chat?.page.context().close()
      chat = undefined
    })
  })
  afterAll(() => chat?.close())

  it("streams the agent's thinking and text, and sends a second message", async () => {
    const hold = pages.model.hold(agent === 'claude' ? 8 : 4)
    await tab.say(modelPrompt('Speak.', thinking))
    await hold.reached
    await tab.shows('Let me see.')
    expect(await tab.status()).toBe('streaming')
    hold.release()
    await tab.ended()
    expect((await tab.last()).parts).toMatchObject([
      { type: 'step-start' },
      { type: 'reasoning', text: 'Let me see.', state: 'done' },
      { type: 'text', text: 'One, two, three.', state: 'done' },
    ])
    expect((await tab.last()).metadata).toMatchObject({ agent, model: expect.any(String), usage: {} })
    await tab.say(modelPrompt('Remember?', { say: 'history' }))
    await tab.ended()
    expect(JSON.stringify((await tab.last()).parts)).toContain('Speak.')
  })

  it('approves a command, which then runs', async () => {
    const { length } = await tab.messages()
    await tab.say(modelPrompt('Write.', command(`printf x > ${file}; echo written`), done))
    await tab.asked()
    expect(existsSync(file)).toBe(false)
    await tab.holdsTheSame()
    await tab.press('Approve')
    await tab.ended()
    expect(existsSync(file)).toBe(true)
    const [tool] = await tab.tools()
    expect(tool).toMatchObject({ state: 'output-available', approval: { approved: true } })
    expect(JSON.stringify(tool?.output)).toContain('written')
    await tab.shows('That is done.')
    expect(await tab.messages()).toHaveLength(length + 2)
  })

  it('denies a command, and the agent receives the reason', async () => {
    await tab.say(modelPrompt('Write.', command(`printf x > ${file}`), done))
    await tab.asked()
    await tab.press('Deny')
    await tab.ended()
    expect(existsSync(file)).toBe(false)
    expect(await tab.tools()).toMatchObject([
      { state: 'output-denied', approval: { reason: 'Not in this folder.' } },
    ])
    expect(JSON.stringify(pages.model.calls.at(-1)?.body)).toContain('Not in this folder.')
  })

  it('answers a question', async () => {
    await tab.say(modelPrompt('Ask.', ask, done))
    await tab.page.getByRole('button', { name: 'blue' }).waitFor()
    await eventually(() => tab.status()).toBe('ready')
    await tab.holdsTheSame()
    await tab.press('blue')
    await tab.ended()
    await tab.shows('That is done.')
    expect(JSON.stringify(pages.model.calls.at(-1)?.body)).toContain(String.raw`\"Which colour?\"=\"blue\"`)
  })

  it('stops the agent, and continues with it', async () => {
    const hold = pages.model.hold(agent === 'claude' ? 6 : 3)
    await tab.say(modelPrompt('Speak.', long))
    await hold.reached
    await tab.shows(/One, two/)
    await tab.press('Stop')
    await tab.ended('cancelled')
    hold.release()
    await tab.say(modelPrompt('Go on.', done))
    await tab.shows('That is done.')
    await tab.ended()
  })

  it('shows the whole answer after a reload in mid-answer', async () => {
    const { length } = await tab.messages()
    await tab.say(modelPrompt('Hello.', { content: 'Good morning.' }))
    await tab.ended()
    const hold = pages.model.hold(agent === 'claude' ? 6 : 3)
    await tab.say(modelPrompt('Speak.', long))
    await hold.reached
    await tab.shows(/One, two/)
    await tab.reload()
    await tab.shows(/One, two/)
    await eventually(() => tab.status()).toBe('streaming')
    hold.release()
    await tab.shows(long.content)
    await tab.ended()
    expect(await tab.messages()).toHaveLength(length + 4)
  })

  it('can answer an open request after a reload', async () => {
    await tab.say(modelPrompt('Write.', command(`printf x >> ${file}`), done))
    await tab.asked()
    await tab.reload()
    await tab.asked()
    await tab.holdsTheSame()
    await tab.press('Approve')
    await tab.ended()
    expect(readFileSync(file, 'utf8')).toBe('x')
  })

  it('is open in two tabs: both show the agent, and the first answer counts', async () => {
    const hold = pages.model.hold(agent === 'claude' ? 6 : 3)
    await tab.say(modelPrompt('Speak.', long))
    await hold.reached
    await tab.shows(/One, two/)
    const other = await tab.beside()
    await other.shows(/One, two/)
    hold.release()
    await Promise.all([tab.ended(), other.ended()])

    await tab.say(modelPrompt('Write.', command(`printf x >> ${file}`), done))
    await tab.asked()
    await other.press('Refresh')
    await other.asked()
    await other.holdsTheSame()
    await Promise.all([tab.press('Approve'), other.press('Deny')])
    await eventually(async () => (await pages.messages(tab.place.id)).at(-1)?.metadata).toMatchObject({
      outcome: 'completed',
    })
    const late = [tab, other].map(({ page }) =>
      page.getByRole('alert').filter({ hasText: 'already resolved' }),
    )
    await eventually(async () => (await Promise.all(late.map((one) => one.count()))).sort()).toEqual([0, 1])
    const tool = (await pages.messages(tab.place.id)).at(-1)?.parts.find(isTool)
    const { approved } = (tool?.approval ?? {}) as { approved?: boolean }
    expect(existsSync(file) && readFileSync(file, 'utf8')).toBe(approved && 'x')
    await Promise.all([tab.reload(), other.reload()])
    await Promise.all([tab.ended(), other.ended()])
    await other.page.close()
  })

  it('shows an error when the model refuses, and continues', async () => {
    await tab.say('Be refused.')
    await tab.ended('failed')
    expect(await tab.page.getByRole('alert').textContent()).toContain(refusal)
    await tab.say(modelPrompt('Hello.', done))
    await tab.shows('That is done.')
    await tab.ended()
  })
})

const isTool = ({ type }: { type: string }) => type === 'dynamic-tool'
