import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { permission } from '../../core/host-under-test.ts'
import type { UiMessage } from '../../transcripts/ui-message.ts'
import { testToken } from '../http/server-under-test.ts'
import { type ChatUnderTest, chatUnderTest, type Page } from './chat-under-test.ts'

let chat: ChatUnderTest
beforeAll(async () => {
  chat = await chatUnderTest()
})
afterAll(() => chat?.[Symbol.asyncDispose]())

const text = (words: string) => ({ type: 'text', text: words })
const user = (...parts: object[]) => ({ id: `m${++ids}`, role: 'user', parts })
let ids = 0
let files = 0
const newFile = () => `effect-${++files}`

async function refusal(body: object): Promise<{ status: number; code: string; message: string }> {
  const { status, text } = await chat.send(body)
  return { status, ...JSON.parse(text).error }
}

/** Sends the page's last message with a change, as the page itself would send it. */
async function sendChanged(page: Page, change: (message: UiMessage) => UiMessage) {
  const last = change(page.last)
  return refusal({ id: page.id, messages: [last], trigger: 'submit-message', messageId: last.id })
}

const changeTool = (message: UiMessage, fields: object): UiMessage => ({
  ...message,
  parts: message.parts.map((part) => ('toolCallId' in part ? { ...part, ...fields } : part)),
})

describe('an invalid chat request', () => {
  it.each([
    ['no messages', { id: 'bad', messages: [] }],
    ['no chat id', { messages: [user(text('hi'))] }],
    ['an empty chat id', { id: '', messages: [user(text('hi'))] }],
    ['a chat id that is too long', { id: 'x'.repeat(151), messages: [user(text('hi'))] }],
    ['a message that is a string', { id: 'bad', messages: ['hi'] }],
    [
      'a message without the field "parts"',
      { id: 'bad', messages: [{ id: 'm', role: 'user', content: 'hi' }] },
    ],
    ['a message with an unknown role', { id: 'bad', messages: [{ id: 'm', role: 'dog', parts: [] }] }],
    ['an empty message id', { id: 'bad', messages: [{ ...user(text('hi')), id: '' }] }],
    [
      'a message id that is too long',
      { id: 'bad', messages: [{ ...user(text('hi')), id: 'x'.repeat(151) }] },
    ],
    ['a system message at the end', { id: 'bad', messages: [{ ...user(text('hi')), role: 'system' }] }],
    ['a message of white space only', { id: 'bad', messages: [user(text('  '))] }],
    ['a message with no parts', { id: 'bad', messages: [user()] }],
    ['a text part whose text is a number', { id: 'bad', messages: [user({ type: 'text', text: 7 })] }],
    ['a part of an unknown type', { id: 'bad', messages: [user({ type: 'video', url: 'data:' })] }],
    [
      'a tool part in a user message',
      { id: 'bad', messages: [user({ type: 'dynamic-tool', toolCallId: 'c' })] },
    ],
    ['an unknown trigger', { id: 'bad', messages: [user(text('hi'))], trigger: 'jump' }],
    ['an unknown field', { id: 'bad', messages: [user(text('hi'))], webSearch: true }],
    ['an unknown mode', { id: 'bad', messages: [user(text('hi'))], mode: 'yolo' }],
    [
      'a permission with an unknown scope',
      { id: 'bad', messages: [user(text('hi'))], permissions: { r: { scope: 'ever' } } },
    ],
    [
      'a folder that does not exist',
      { id: 'bad', messages: [user(text('hi'))], cwd: '/there/is/no/such/folder' },
    ],
  ])('with %s is refused', async (_, body) => {
    expect(await refusal(body)).toMatchObject({ status: 400, code: 'validation_error' })
  })

  it.each([
    ['at a remote URL', 'https://example.org/cat.png'],
    ['at a file URL', 'file:///etc/passwd'],
    ['not in base64', 'data:image/png,abc'],
    ['in invalid base64', 'data:image/png;base64,****'],
    ['in truncated base64', 'data:image/png;base64,abc'],
    ['without data', 'data:image/png;base64,'],
  ])('with a file %s is refused', async (_, url) => {
    const body = { id: 'bad', messages: [user({ type: 'file', mediaType: 'image/png', url })] }
    const answer = await refusal(body)
    expect(answer).toMatchObject({ status: 400, code: 'validation_error' })
    expect(answer.message).toContain('data URL')
  })

  it('with an image that is too large is refused', async () => {
    const url = `data:image/png;base64,${'A'.repeat(13 * 1024 * 1024)}`
    const body = { id: 'huge', messages: [user({ type: 'file', mediaType: 'image/png', url })] }
    expect(await refusal(body)).toMatchObject({ status: 413, code: 'too_large' })
    expect(await chat.messages('huge')).toEqual([])
  })

  it('with an unknown agent is refused', async () => {
    const body = { id: 'nobody', agent: 'nobody', messages: [user(text('hi'))] }
    expect(await refusal(body)).toMatchObject({ status: 404, code: 'agent_not_found' })
  })

  it('leaves no session behind', async () => {
    for (const id of ['bad', 'nobody']) {
      expect((await chat.server.ask(`/api/chat/${id}/stream`)).status).toBe(204)
      expect(await chat.messages(id)).toEqual([])
    }
    expect((await chat.server.ask('/api/chat/bad/stop', { method: 'POST' })).status).toBe(404)
    const { body } = await chat.server.ask('/api/sessions')
    expect(body.sessions).toEqual([])
  })

  it('is refused without the token and from a foreign origin', async () => {
    const body = { id: 'foreign', messages: [user(text('hi'))] }
    expect((await chat.server.ask('/api/chat', { body, token: false })).status).toBe(401)
    const headers = { origin: 'https://elsewhere.example' }
    expect((await chat.server.ask('/api/chat', { body, headers })).status).toBe(403)
    expect((await chat.server.ask('/api/chat/foreign/stream', { token: false })).status).toBe(401)
    expect((await chat.server.ask('/api/chat/foreign/messages', { token: false })).status).toBe(401)
    const stop = { method: 'POST', token: false }
    expect((await chat.server.ask('/api/chat/foreign/stop', stop)).status).toBe(401)
  })
})

describe('an invalid answer', () => {
  it('to a call that is not open is refused, and the call does not run', async () => {
    const page = chat.page(6, { byHand: true })
    const file = newFile()
    await page.say([permission(file)])
    await page.asked()
    const responded = { state: 'approval-responded' }
    const unknown = { ...responded, approval: { id: 'req_nowhere', approved: true } }
    expect(await sendChanged(page, (last) => changeTool(last, unknown))).toMatchObject({
      status: 404,
      code: 'not_found',
    })
    const half = { ...responded, approval: { id: page.tools()[0]?.approval?.id } }
    expect(await sendChanged(page, (last) => changeTool(last, half))).toMatchObject({ status: 400 })
    expect(await sendChanged(page, (last) => last)).toMatchObject({ status: 400, code: 'validation_error' })
    const elsewhere = { ...responded, approval: { id: page.tools()[0]?.approval?.id, approved: true } }
    expect(
      await sendChanged(page, (last) => ({ ...changeTool(last, elsewhere), id: 'trn_nowhere' })),
    ).toMatchObject({ status: 404 })
    expect(
      await sendChanged(page, (last) => ({ ...changeTool(last, elsewhere), metadata: {} })),
    ).toMatchObject({ status: 409, code: 'conflict' })
    expect(chat.under.runs(file)).toBe(0)
    expect((await chat.session(page.id).state()).requests).toHaveLength(1)
  })

  it('is refused after its turn has ended', async () => {
    const page = chat.page(7, { byHand: true })
    const file = newFile()
    await page.say([permission(file)])
    await page.asked()
    await chat.server.ask(`/api/chat/${encodeURIComponent(page.id)}/stop`, { method: 'POST' })
    await chat.session(page.id).idle()
    const approval = { id: page.tools()[0]?.approval?.id, approved: true }
    expect(
      await sendChanged(page, (last) => changeTool(last, { state: 'approval-responded', approval })),
    ).toMatchObject({ status: 409, code: 'conflict', details: { outcome: 'cancelled' } })
    expect(chat.under.runs(file)).toBe(0)
  })

  it('is refused if it does not fit the question', async () => {
    const page = chat.page(6, { byHand: true })
    await page.say([
      {
        type: 'question',
        questions: [
          {
            id: 'q',
            header: 'Q',
            text: 'Which?',
            options: [{ label: 'red' }],
            multiple: false,
            freeText: false,
          },
        ],
      },
    ])
    const given = (fields: object) => sendChanged(page, (last) => changeTool(last, fields))
    const put = (output: unknown) => given({ state: 'output-available', output })
    expect(await put('green')).toMatchObject({ status: 400, code: 'validation_error' })
    expect(await put({ other: 'red' })).toMatchObject({ status: 400 })
    expect(await put(7)).toMatchObject({ status: 400 })
    expect(await put(undefined)).toMatchObject({ status: 400 })
    expect(await given({ state: 'output-error', errorText: 'no' })).toMatchObject({
      status: 422,
      code: 'not_supported',
    })
    expect((await chat.session(page.id).state()).requests).toHaveLength(1)
  })

  it('is refused if it has a field that an allow decision does not accept', async () => {
    const page = chat.page(6, { byHand: true })
    const file = newFile()
    await page.say([permission(file)])
    await page.asked()
    const id = page.tools()[0]?.approval?.id ?? ''
    const last = changeTool(page.last, { state: 'approval-responded', approval: { id, approved: true } })
    const body = { id: page.id, messages: [last], messageId: last.id }
    const permissions = { [id]: { endTurn: true } }
    expect(await refusal({ ...body, permissions })).toMatchObject({ status: 400, code: 'validation_error' })
    expect(chat.under.runs(file)).toBe(0)
  })
})

describe('a page that disconnects', () => {
  it('right after it sent its answer: the answer is applied, and the turn completes', async () => {
    const page = chat.page(6, { byHand: true })
    const file = newFile()
    await page.say([permission(file), { type: 'text', text: 'Written.' }])
    await page.asked()
    const id = page.tools()[0]?.approval?.id ?? ''
    const last = changeTool(page.last, { state: 'approval-responded', approval: { id, approved: true } })
    await sendAndLeave({ id: page.id, messages: [last], messageId: last.id })
    const { lastTurn } = await chat.session(page.id).idle()
    expect(lastTurn?.outcome).toBe('completed')
    expect(chat.under.runs(file)).toBe(1)
    expect((await chat.messages(page.id)).at(-1)?.parts).toContainEqual(
      expect.objectContaining({ type: 'text', text: 'Written.' }),
    )
  })

  it('before its answer has arrived: the request stays open', async () => {
    const page = chat.page(6, { byHand: true })
    const file = newFile()
    await page.say([permission(file)])
    await page.asked()
    await sendHalfAndLeave(page.id)
    expect((await chat.session(page.id).state()).requests).toHaveLength(1)
    expect(chat.under.runs(file)).toBe(0)
    await page.decide(page.tools()[0], false)
    await page.chat.sendMessage(undefined as unknown as object)
    await page.ended()
  })

  it('and sends the same message again: the message runs once, and the page gets the whole response', async () => {
    const message = user(text('hello there'))
    const body = { id: 'twice', messages: [message] }
    const first = await chat.send(body)
    const again = await chat.send(body)
    expect(again.text).toContain('"delta":"hello there"')
    const lastLine = ({ text }: { text: string }) => text.trim().split('\n').at(-3)
    expect(lastLine(again)).toBe(lastLine(first))
    expect(await chat.session('twice').events('prompt.submitted')).toHaveLength(1)
    const other = { ...message, parts: [text('something else')] }
    expect(await refusal({ id: 'twice', messages: [other] })).toMatchObject({ status: 409, code: 'conflict' })
  })
})

describe('a response', () => {
  it('has the headers and the framing that the AI SDK expects', async () => {
    const { headers, text: stream } = await chat.server.ask('/api/chat', {
      body: { id: 'wire', messages: [user(text('hi'))] },
    })
    expect(headers).toMatchObject({
      'content-type': 'text/event-stream',
      'x-vercel-ai-ui-message-stream': 'v1',
      'x-accel-buffering': 'no',
    })
    expect(stream).toMatch(/^data: \{"type":"start","messageId":"trn_/)
    expect(stream).toMatch(/\n\ndata: \[DONE\]\n\n$/)
  })

  it('can be read by a page of a configured origin, and by no other', async () => {
    const origin = 'https://pages.example'
    await using shared = await chatUnderTest({ allowedOrigins: [origin] })
    const { ask } = shared.server
    const asked = {
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type',
    }
    const preflight = await ask('/api/chat', {
      method: 'OPTIONS',
      headers: { origin, ...asked },
      token: false,
    })
    expect(preflight).toMatchObject({ status: 204, headers: { 'access-control-allow-origin': origin } })
    const body = { id: 'shared', messages: [user(text('hi'))] }
    const { status, headers } = await ask('/api/chat', { body, headers: { origin } })
    expect({ status, origin: headers['access-control-allow-origin'] }).toEqual({ status: 200, origin })
    const foreign = { origin: 'https://elsewhere.example' }
    expect((await ask('/api/chat', { body, headers: foreign })).status).toBe(403)
    expect((await ask('/api/chat/shared/messages', { headers: foreign })).status).toBe(403)
  })

  it('sends keep-alive comments while the agent is silent', async () => {
    await using quiet = await chatUnderTest({ limits: { heartbeatMs: 2 } })
    const script = JSON.stringify([{ type: 'wait', gate: 'quiet' }])
    const body = JSON.stringify({ id: 'quiet', messages: [user(text(script))] })
    const read = await new Promise<string>((resolve) => {
      let received = ''
      const sent = open(body, { port: quiet.server.port })
      sent.on('response', (response) => {
        response.on('data', (bytes) => {
          received += bytes
          if (received.includes(': keep-alive\n\n')) quiet.under.gates.open('quiet')
        })
        response.on('end', () => resolve(received))
      })
      sent.end(body)
    })
    expect(read).toMatch(/data: \[DONE\]\n\n$/)
  })

  it('is cut off when the page does not read it, and can be resumed', async () => {
    await using small = await chatUnderTest({ limits: { bufferBytes: 10_000 } })
    const flood = [
      { type: 'flood', deltas: 20_000, size: 400 },
      { type: 'text', text: 'the end' },
    ]
    const body = JSON.stringify({ id: 'slow', messages: [user(text(JSON.stringify(flood)))] })
    const sent = open(body, { port: small.server.port })
    const broken = new Promise<string>((resolve) => {
      sent.on('response', async (response) => {
        let read = ''
        await endOf(small, 'slow')
        response.on('data', (bytes) => {
          read += bytes
        })
        response.on('close', () => resolve(read))
        response.on('error', () => undefined)
      })
    })
    sent.end(body)
    expect(await broken).not.toContain('[DONE]')
    expect(JSON.stringify((await small.messages('slow')).at(-1)?.parts)).toContain('the end')
  })

  it('ends with an error when the session is deleted, and is cut off when the server closes', async () => {
    const hang = JSON.stringify([{ type: 'text', text: 'on my way' }, { type: 'hang' }])
    const sending = chat.send({ id: 'gone', messages: [user(text(hang))] })
    while ((await chat.messages('gone')).at(-1)?.parts.length !== 2);
    await chat.under.host.delete(chat.session('gone').id)
    expect((await sending).text).toContain('This session was deleted.')

    await using other = await chatUnderTest()
    const page = other.page(7)
    const saying = page.say(hang)
    await page.when('begun', (it) => it.chat.status === 'streaming')
    await other.server.close()
    await saying
    expect(page.chat.status).toBe('error')
  })
})

async function endOf(under: ChatUnderTest, id: string): Promise<void> {
  const outcome = async () => (await under.messages(id)).at(-1)?.metadata as { outcome?: string } | undefined
  while ((await outcome())?.outcome === undefined);
}

function open(body: string, { length = Buffer.byteLength(body), port = chat.server.port } = {}) {
  const headers = {
    authorization: `Bearer ${testToken}`,
    'content-type': 'application/json',
    'content-length': String(length),
  }
  const sent = request({
    host: '127.0.0.1',
    port,
    path: '/api/chat',
    method: 'POST',
    headers,
    agent: false,
  })
  sent.on('error', () => undefined)
  return sent
}

async function sendAndLeave(body: object): Promise<void> {
  const json = JSON.stringify(body)
  await new Promise<void>((resolve) => {
    const sent = open(json)
    sent.on('response', (response) => {
      response.destroy()
      resolve()
    })
    sent.end(json)
  })
}

async function sendHalfAndLeave(id: string): Promise<void> {
  const half = `{"id":${JSON.stringify(id)},"messages":[`
  await new Promise<void>((resolve) => {
    const sent = open(half, { length: 100_000 })
    sent.on('close', resolve)
    sent.write(half, () => sent.destroy())
  })
}
