import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFailed } from 'vitest'
import { Page } from '../../packages/server/src/faces/chat/page-under-test.ts'
import { modelPrompt } from '../../packages/server/src/testing/model-by-prompt.ts'
import type { ModelAnswer, ModelServer } from '../../packages/server/src/testing/model-server.ts'
import { comparable } from '../../packages/server/src/transcripts/turn-under-test.ts'
import { bash, ClaudeFixture, call, done } from './claude-fixture.ts'
import { withoutCursors } from './without-cursors.ts'

/** Tests stock pages of both major versions of the AI SDK, without code of Parley, with the real Claude Code. */
let claude: ClaudeFixture
beforeAll(async () => {
  claude = await ClaudeFixture.start({ script: overload })
})
afterAll(() => claude?.[Symbol.asyncDispose]())

/** A model that responds to every call with an overload error. */
function overload(model: ModelServer): void {
  const error = { message: 'Overloaded', type: 'overloaded_error', code: 'overloaded' }
  model.script(
    ({ messages }) => JSON.stringify(messages).includes('Be overloaded.'),
    Array.from({ length: 20 }, () => ({ response: { error, status: 529 } })),
  )
}

let chats = 0
function newPage(sdk: 6 | 7): { page: Page; cwd: string } {
  const cwd = claude.folder()
  const { url, token } = claude.server
  return {
    page: new Page({ url, token }, sdk, { id: `chat-${++chats}`, body: { agent: 'claude', cwd } }),
    cwd,
  }
}

async function serverHolds(page: Page) {
  const { url, token } = claude.server
  const headers = { authorization: `Bearer ${token}` }
  const response = await fetch(`${url}/api/chat/${page.id}/messages`, { headers })
  return (await response.json()) as Page['messages']
}
const holdsTheSame = async (page: Page) =>
  expect(withoutCursors(page.messages)).toEqual(withoutCursors(await serverHolds(page)))
const both = (...calls: ModelAnswer[]): ModelAnswer => ({
  toolCalls: calls.flatMap((one) => ('toolCalls' in one ? (one.toolCalls ?? []) : [])),
})

describe.each([6, 7] as const)('a stock page of version %i', (sdk) => {
  // One chat for most tests, so that Claude Code is started once. After a failed test, the next test opens a new chat.
  let chat: ReturnType<typeof newPage> | undefined
  let page: Page
  let cwd: string
  beforeEach(() => {
    chat ??= newPage(sdk)
    page = chat.page
    cwd = chat.cwd
    for (const name of readdirSync(cwd)) rmSync(join(cwd, name), { recursive: true })
    onTestFailed(() => {
      chat = undefined
    })
  })

  it("streams Claude's thinking and text, and sends a second message", async () => {
    await page.say(
      modelPrompt('Speak.', { reasoning: 'Let me see.', content: 'One, two, three.' } as ModelAnswer),
    )
    expect(page.text).toBe('One, two, three.')
    expect(page.last.parts).toContainEqual(
      expect.objectContaining({ type: 'reasoning', text: 'Let me see.', state: 'done' }),
    )
    expect(page.last.metadata).toMatchObject({
      agent: 'claude',
      outcome: 'completed',
      usage: expect.any(Object),
      model: expect.any(String),
    })
    await page.say(modelPrompt('Remember?', { say: 'history' }))
    expect(page.text).toContain('Speak.')
    await holdsTheSame(page)
  })

  it('approves a command, which then runs', async () => {
    const { length } = page.messages
    await page.say(modelPrompt('Write.', bash('printf x > a'), done))
    await page.asked()
    expect(existsSync(join(cwd, 'a'))).toBe(false)
    expect(page.tools()).toMatchObject([
      { toolName: 'Bash', input: { command: 'printf x > a' }, providerExecuted: true },
    ])
    await holdsTheSame(page)
    await page.decide(page.tools()[0], true)
    await page.ended()
    expect(existsSync(join(cwd, 'a'))).toBe(true)
    expect(page.text).toBe('That is done.')
    expect(page.messages).toHaveLength(length + 2)
    await holdsTheSame(page)
  })

  it('denies a command, and Claude receives the reason', async () => {
    await page.say(modelPrompt('Write.', bash('printf x > a'), done))
    await page.asked()
    await page.decide(page.tools()[0], false, { reason: 'Not in this folder.' })
    await page.ended()
    expect(existsSync(join(cwd, 'a'))).toBe(false)
    expect(page.tools()).toMatchObject([
      { state: 'output-denied', approval: { reason: 'Not in this folder.' } },
    ])
    expect(JSON.stringify(claude.modelSaw('tool_result').at(-1))).toContain('Not in this folder.')
    await holdsTheSame(page)
  })

  it('answers two parallel commands, each in its own way', async () => {
    const commands = both(
      call('Bash', { command: 'printf x > a', description: 'a' }, 'toolu_a'),
      call('Bash', { command: 'printf x > b', description: 'b' }, 'toolu_b'),
    )
    await page.say(modelPrompt('Write both.', commands, done))
    const answers = new Set<string>()
    while (!(page.last.metadata as { outcome?: string }).outcome) {
      await page.when('asked or ended', (it) => {
        const { outcome } = (it.last.metadata ?? {}) as { outcome?: string }
        return it.chat.status === 'ready' && (!!outcome || it.tools('approval-requested').length > 0)
      })
      for (const part of page.tools('approval-requested')) {
        const isFirst = JSON.stringify(part.input).includes('> a')
        answers.add(part.toolCallId)
        await page.decide(part, isFirst)
      }
    }
    expect(answers.size).toBe(2)
    expect([existsSync(join(cwd, 'a')), existsSync(join(cwd, 'b'))]).toEqual([true, false])
    await holdsTheSame(page)
  })

  it('answers a question with its output', async () => {
    const question = {
      question: 'Which colour?',
      header: 'Colour',
      multiSelect: false,
      options: [
        { label: 'red', description: 'warm' },
        { label: 'blue', description: 'cold' },
      ],
    }
    await page.say(modelPrompt('Ask.', call('AskUserQuestion', { questions: [question] }), done))
    const [asked] = page.tools()
    expect(asked).toMatchObject({
      toolName: 'question',
      state: 'input-available',
      input: { questions: [{ header: 'Colour', options: [{ label: 'red' }, { label: 'blue' }] }] },
    })
    await holdsTheSame(page)
    await page.chat.addToolOutput({ tool: 'question', toolCallId: asked?.toolCallId, output: 'blue' })
    await page.ended()
    expect(page.text).toBe('That is done.')
    expect(claude.modelSaw('tool_result').at(-1)).toMatchObject({
      content: expect.stringContaining('"Which colour?"="blue"'),
    })
    await holdsTheSame(page)
  })

  it('answers a request of a subagent', async () => {
    const inside = modelPrompt('Write it down.', bash('printf x > a'), { content: 'I have tried.' })
    const delegate = call('Agent', {
      description: 'look',
      subagent_type: 'general-purpose',
      run_in_background: false,
      prompt: inside,
    })
    await page.say(modelPrompt('Delegate.', delegate, done))
    await page.asked()
    await page.decide(page.tools('approval-requested')[0], true)
    await page.ended()
    expect(existsSync(join(cwd, 'a'))).toBe(true)
    await holdsTheSame(page)
  })

  it('shows the whole answer after a reload in mid-answer', async () => {
    await page.say(modelPrompt('Hello.', done))
    const { length } = page.messages
    const hold = claude.model.hold(6)
    const saying = page.say(modelPrompt('Speak.', { content: 'One, two, three, four, five, six.' }))
    await hold.reached
    await page.when('half said', (it) => it.messages.length === length + 2 && it.text !== '')
    const { url, token } = claude.server
    const reloaded = new Page({ url, token }, sdk, { id: page.id, messages: await serverHolds(page) })
    const resuming = reloaded.chat.resumeStream()
    await reloaded.when('resumed', (it) => it.chat.status === 'streaming')
    hold.release()
    await Promise.all([saying, resuming])
    expect(reloaded.messages).toEqual(page.messages)
    await holdsTheSame(reloaded)
  })

  it('stops Claude, and continues with it', async () => {
    const { length } = page.messages
    const hold = claude.model.hold(6)
    const saying = page.say(modelPrompt('Speak.', { content: 'One, two, three, four, five, six.' }))
    await hold.reached
    await page.when('half said', (it) => it.messages.length === length + 2 && it.text !== '')
    const { url, token } = claude.server
    const headers = { authorization: `Bearer ${token}` }
    await fetch(`${url}/api/chat/${page.id}/stop`, { method: 'POST', headers })
    await saying
    hold.release()
    await page.ended('cancelled')
    await page.say(modelPrompt('Go on.', done))
    expect(page.text).toBe('That is done.')
    const [mine, theirs] = [page.messages, await serverHolds(page)].map((messages) =>
      messages.map((message) => comparable(message, sdk)),
    )
    expect(mine).toEqual(theirs)
  })

  it.each(['SIGTERM', 'SIGKILL'] as const)('answers after the server was ended with %s', async (signal) => {
    const { length } = page.messages
    await page.say(modelPrompt('Write.', bash('printf x >> a'), done))
    await page.asked()
    await claude.server.end(signal)
    await claude.server.start()
    const { url, token } = claude.server
    const reloaded = new Page({ url, token }, sdk, { id: page.id, messages: await serverHolds(page) })
    chat = { page: reloaded, cwd }
    await reloaded.asked()
    await reloaded.decide(reloaded.tools('approval-requested')[0], true)
    await reloaded.ended()
    expect(readFileSync(join(cwd, 'a'), 'utf8')).toBe('x')
    expect(reloaded.messages).toHaveLength(length + 2)
    expect(reloaded.text).toBe('That is done.')
    await holdsTheSame(reloaded)
  })

  it('shows an error when the model does not answer', async () => {
    const { page } = newPage(sdk)
    await page.say('Be overloaded.')
    await page.ended('failed')
    expect(page.chat.status).toBe('error')
    expect(page.chat.error?.message).not.toBe('')
    await holdsTheSame(page)
  })
})
