import { existsSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, onTestFailed } from 'vitest'
import { Page } from '../../packages/server/src/faces/chat/page-under-test.ts'
import { modelPrompt } from '../../packages/server/src/testing/model-by-prompt.ts'
import type { UiMessage } from '../../packages/server/src/transcripts/ui-message.ts'
import { bash, ClaudeFixture, done } from './claude-fixture.ts'
import { eventually } from './console-page.ts'

/** Tests invalid requests of a page while a command of the real Claude Code waits for permission. */
let claude: ClaudeFixture
beforeAll(async () => {
  claude = await ClaudeFixture.start()
})
afterAll(() => claude?.[Symbol.asyncDispose]())

let chats = 0
const newChat = () => ({ id: `bad-${++chats}`, cwd: claude.folder() })

let shared: ReturnType<typeof newChat> | undefined

/** One chat for all tests, so that Claude Code is started once. After a failed test, the next test gets a new chat. */
function sharedChat(): ReturnType<typeof newChat> {
  onTestFailed(() => {
    shared = undefined
  })
  shared ??= newChat()
  return shared
}

/** A page whose agent waits for permission to write. From then on, the page sends nothing automatically. */
async function waiting({ id, cwd } = sharedChat()): Promise<{
  page: Page
  written: () => string | undefined
}> {
  const { url, token } = claude.server
  const body = { agent: 'claude', cwd }
  const page = new Page({ url, token }, 7, { id, messages: await messagesOf(id), body, byHand: true })
  const file = join(cwd, 'a')
  rmSync(file, { force: true })
  await page.say(modelPrompt('Write.', bash('printf x >> a'), done))
  await page.asked()
  return { page, written: () => (existsSync(file) ? readFileSync(file, 'utf8') : undefined) }
}

/** A copy of the page's last message whose calls have this approval. */
function decided(page: Page, approval: object): UiMessage {
  const parts = page.last.parts.map((part) =>
    'toolCallId' in part
      ? { ...part, state: 'approval-responded', approval: { ...(part.approval as object), ...approval } }
      : part,
  )
  return { ...page.last, parts }
}

function post(page: Page, message: object): Promise<Response> {
  const { url, token } = claude.server
  return fetch(`${url}/api/chat?sdk=7`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ id: page.id, messages: [message], trigger: 'submit-message' }),
  })
}

async function refusal(page: Page, message: object) {
  const response = await post(page, message)
  return { status: response.status, ...(await response.json()).error }
}

async function messagesOf(id: string): Promise<UiMessage[]> {
  const { url, token } = claude.server
  const headers = { authorization: `Bearer ${token}` }
  return (await fetch(`${url}/api/chat/${id}/messages`, { headers })).json()
}

/** The message on the server, once its turn has ended. */
async function ended({ id }: Page): Promise<UiMessage> {
  await eventually(async () => (await messagesOf(id)).at(-1)?.metadata).toHaveProperty('outcome')
  return (await messagesOf(id)).at(-1) as UiMessage
}

const approvalOf = (message: UiMessage) =>
  message.parts.find((part) => 'toolCallId' in part)?.approval as { id: string; approved?: boolean }

it('permission for one call is not taken as permission for another', async () => {
  const [first, second] = [await waiting(), await waiting(newChat())]
  const { id } = approvalOf(second.page.last)
  expect(await refusal(first.page, decided(first.page, { id, approved: true }))).toMatchObject({
    status: 404,
    code: 'not_found',
  })
  const elsewhere = { ...decided(second.page, { approved: true }), id: first.page.last.id }
  expect(await refusal(first.page, elsewhere)).toMatchObject({ status: 404, code: 'not_found' })
  const halfHeard = { ...decided(first.page, { approved: true }), metadata: {} }
  expect(await refusal(first.page, halfHeard)).toMatchObject({ status: 409, code: 'conflict' })
  for (const { page, written } of [first, second]) {
    expect(written()).toBeUndefined()
    await (await post(page, decided(page, { approved: false }))).text()
    expect((await ended(page)).metadata).toMatchObject({ outcome: 'completed' })
    expect(written()).toBeUndefined()
  }
})

it('a refused message does not cancel the turn', async () => {
  const { page, written } = await waiting()
  const user = (part: object) => ({ id: 'm', role: 'user', parts: [part] })
  expect(await refusal(page, user({ type: 'video', url: 'data:' }))).toMatchObject({ status: 400 })
  const url = `data:image/png;base64,${'A'.repeat(13 * 2 ** 20)}`
  const huge = user({ type: 'file', mediaType: 'image/png', url })
  expect(await refusal(page, huge)).toMatchObject({ status: 413, code: 'too_large' })
  await (await post(page, decided(page, { approved: true }))).text()
  expect((await ended(page)).metadata).toMatchObject({ outcome: 'completed' })
  expect(written()).toBe('x')
})

it.each([
  [true, true],
  [true, false],
  [false, true],
])('one of two answers at the same moment (%s, %s) counts', async (...answers) => {
  const { page, written } = await waiting()
  const responses = await Promise.all(
    answers.map((approved) => post(page, decided(page, { approved, reason: 'because' }))),
  )
  const texts = await Promise.all(responses.map((response) => response.text()))
  const { approved } = approvalOf(await ended(page))
  expect(responses.map(({ status }) => status)).toEqual(answers.map((one) => (one === approved ? 200 : 409)))
  for (const [index, text] of texts.entries()) {
    if (answers[index] === approved) expect(text).toContain('"outcome":"completed"')
    else expect(JSON.parse(text)).toMatchObject({ error: { code: 'conflict' } })
  }
  expect(written()).toBe(approved ? 'x' : undefined)
})

it('an answer counts even if its page disconnects at once, but not if it never arrived', async () => {
  const { page, written } = await waiting()
  await leave(page, decided(page, { approved: true }), 'in mid-request')
  expect(written()).toBeUndefined()
  const { url, token } = claude.server
  const again = new Page({ url, token }, 7, { id: page.id, messages: page.messages, byHand: true })
  await again.chat.resumeStream()
  await again.asked()
  await leave(again, decided(again, { approved: true }), 'in mid-response')
  const last = await ended(page)
  expect(last.metadata).toMatchObject({ outcome: 'completed' })
  expect(last.parts).toContainEqual(expect.objectContaining({ type: 'text', text: 'That is done.' }))
  expect(written()).toBe('x')
})

function leave(page: Page, message: object, when: 'in mid-request' | 'in mid-response'): Promise<void> {
  const { port, token } = claude.server
  const body = Buffer.from(JSON.stringify({ id: page.id, messages: [message] }))
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'content-length': body.length,
  }
  return new Promise((resolve) => {
    const sent = request({ host: '127.0.0.1', port, path: '/api/chat?sdk=7', method: 'POST', headers })
    sent.on('error', () => undefined).on('close', resolve)
    sent.on('response', (response) => void response.destroy())
    if (when === 'in mid-response') sent.end(body)
    else sent.write(body.subarray(0, -1), () => sent.destroy())
  })
}
