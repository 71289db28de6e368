import { once } from 'node:events'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ErrorBody } from '@parley/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createScriptedAdapter } from '../../adapters/scripted/index.ts'
import { createHost } from '../../index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { type Answer, type ServerUnderTest, serverUnderTest, testToken } from './server-under-test.ts'

const host = await createHost({ adapters: [createScriptedAdapter()], store: createMemoryStore() })
const cwd = await mkdtemp(join(tmpdir(), 'parley-http-'))
let server: ServerUnderTest
let session: string

beforeAll(async () => {
  server = await serverUnderTest(host, { limits: { bodyBytes: 1024 } })
  const made = await server.ask('/api/sessions', { body: { agent: 'scripted', cwd } })
  expect(made.status).toBe(201)
  session = made.body.id as string
})
afterAll(async () => {
  await server.close()
  await host.close()
})

/** The status and code of a refusal. Every refusal has the same shape, and none contains a stack. */
function refused(answer: Answer): [number, string] {
  const { error } = ErrorBody.parse(answer.body)
  expect(error.message.length).toBeGreaterThan(10)
  expect(answer.text).not.toMatch(/\.ts:\d|node_modules|\bat \w+ \(/)
  return [answer.status, error.code]
}
const commands = () => `/api/sessions/${session}/commands`

describe('a body', () => {
  it('is refused if it is not JSON', async () => {
    for (const body of [
      '{"agent":',
      'agent=demo',
      '{"a":1}}',
      'undefined',
      new Uint8Array([0x22, 0xff, 0x22]),
    ]) {
      expect(refused(await server.ask('/api/sessions', { body }))).toEqual([400, 'validation_error'])
    }
    expect(refused(await server.ask('/api/sessions', { body: '' }))).toEqual([400, 'validation_error'])
    expect(refused(await server.ask('/api/sessions', { method: 'POST' }))).toEqual([400, 'validation_error'])
  })

  it('is refused with another content type, such as a form of another site would send', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'application/jsonp',
      '',
    ]) {
      const answer = await server.ask('/api/sessions', {
        body: { agent: 'scripted', cwd },
        headers: { 'content-type': type },
      })
      expect([type, ...refused(answer)]).toEqual([type, 400, 'validation_error'])
    }
    const gzip = { 'content-encoding': 'gzip' }
    expect(refused(await server.ask('/api/sessions', { body: '{}', headers: gzip }))[0]).toBe(400)
  })

  it('is refused with wrong types and missing fields, which are named', async () => {
    const answer = await server.ask('/api/sessions', { body: { agent: 'scripted', cwd: 7 } })
    expect(refused(answer)).toEqual([400, 'validation_error'])
    expect(answer.body.error).toMatchObject({ details: { issues: [{ path: 'cwd' }] } })
    for (const body of [[], 'null', '"text"', { cwd }, { agent: 'scripted', cwd, mode: 'yolo' }]) {
      expect(refused(await server.ask('/api/sessions', { body }))).toEqual([400, 'validation_error'])
    }
  })

  it('is refused if it is nested too deep', async () => {
    const roomy = await serverUnderTest(host)
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    const body = `{"commandId":"deep","type":"permission.decide","requestId":"r","decision":"allow","input":${deep}}`
    expect(refused(await roomy.ask(commands(), { body }))).toEqual([400, 'validation_error'])
    await roomy.close()
  })

  it('is refused if it is too large by its length header', async () => {
    const body = { agent: 'scripted', cwd, title: 'x'.repeat(2000) }
    const answer = await server.ask('/api/sessions', { body })
    expect(refused(answer)).toEqual([413, 'too_large'])
    expect(answer.body.error).toMatchObject({ details: { limit: 1024 } })
  })

  it('is refused above 64 KB on the routes that need no token, regardless of the limit of other routes', async () => {
    const roomy = await serverUnderTest(host)
    const body = { code: 'x'.repeat(70_000), publicKey: {} }
    for (const path of ['/api/devices', '/api/access-tokens']) {
      const answer = await roomy.ask(path, { token: false, body })
      expect(refused(answer)).toEqual([413, 'too_large'])
      expect(answer.body.error).toMatchObject({ details: { limit: 65_536 } })
    }
    await roomy.close()
  })

  it('is refused if it is too large by the bytes that arrive', async () => {
    const request = httpRequest({
      host: '127.0.0.1',
      port: server.port,
      path: '/api/sessions',
      method: 'POST',
      headers: { authorization: `Bearer ${testToken}`, 'content-type': 'application/json' },
    })
    request.on('error', () => {})
    request.write(' '.repeat(1500))
    const [response] = await once(request, 'response')
    expect(response.statusCode).toBe(413)
    let text = ''
    for await (const piece of response) text += piece
    expect(JSON.parse(text).error.code).toBe('too_large')
    request.destroy()
  })

  it('leaves the server usable after it was refused', async () => {
    expect((await server.ask(`/api/sessions/${session}`)).status).toBe(200)
  })
})

describe('a URL', () => {
  it('that does not exist gets 404 and a hint', async () => {
    const answer = await server.ask('/api/nothing')
    expect(refused(answer)).toEqual([404, 'not_found'])
    expect(answer.text).toContain('/api/openapi.json')
    expect(refused(await server.ask('/nothing', { token: false }))).toEqual([404, 'not_found'])
    expect(refused(await server.ask('/api/sessions/', {}))[0]).toBe(404)
  })

  it('with a method that it does not support gets 405 and the supported methods', async () => {
    const answer = await server.ask('/api/sessions', { method: 'PUT' })
    expect(refused(answer)).toEqual([405, 'not_supported'])
    expect(answer.headers.allow).toBe('POST, GET')
    expect((await server.ask(`/api/sessions/${session}`, { method: 'POST' })).headers.allow).toBe(
      'GET, PATCH, DELETE',
    )
  })

  it('for a session, rule or trusted folder that does not exist gets 404', async () => {
    const body = { commandId: 'c1', type: 'turn.cancel' }
    const answers = await Promise.all([
      server.ask('/api/sessions/ses_none'),
      server.ask('/api/sessions/ses_none', { method: 'DELETE' }),
      server.ask('/api/sessions/ses_none', { method: 'PATCH', body: { title: 'x' } }),
      server.ask('/api/sessions/ses_none/commands', { body }),
      server.ask('/api/sessions/ses_none/events'),
      server.ask('/api/sessions/ses_none/events', { headers: { accept: 'text/event-stream' } }),
      server.ask('/api/sessions/ses_none/events?after=1', { headers: { accept: 'text/event-stream' } }),
      server.ask('/api/sessions/ses_none/export'),
      server.ask('/api/sessions/ses_none/export?as=html'),
      server.ask('/api/rules/rule_none', { method: 'DELETE' }),
      server.ask('/api/trust?folder=/nowhere', { method: 'DELETE' }),
    ])
    expect(answers.map(refused)).toEqual(answers.map(() => [404, 'not_found']))
    expect(refused(await server.ask(`/api/sessions/${'x'.repeat(300)}`))).toEqual([400, 'validation_error'])
    expect(refused(await server.ask('/api/sessions/%zz'))[0]).toBe(404)
  })

  it('with an invalid query is refused', async () => {
    const events = `/api/sessions/${session}/events`
    for (const path of [
      `${events}?after=-1`,
      `${events}?after=x`,
      `${events}?limit=0`,
      `${events}?limit=999999`,
      `${events}?after=1&before=2`,
      `/api/sessions?limit=none`,
      `/api/sessions?status=asleep`,
      `/api/sessions?cursor=nonsense`,
      `/api/sessions/${session}?tail=-1`,
      `/api/sessions/${session}/export?as=pdf`,
    ]) {
      expect([path, ...refused(await server.ask(path))]).toEqual([path, 400, 'validation_error'])
    }
    const stream = { accept: 'text/event-stream' }
    expect(refused(await server.ask(`${events}?before=2`, { headers: stream }))).toEqual([
      400,
      'validation_error',
    ])
    const badId = { ...stream, 'last-event-id': 'seven' }
    expect(refused(await server.ask(events, { headers: badId }))).toEqual([400, 'validation_error'])
  })
})

describe('sessions and commands', () => {
  it('refuse an unknown agent and an invalid folder', async () => {
    const file = join(cwd, 'file')
    await writeFile(file, '')
    const make = (body: object) => server.ask('/api/sessions', { body })
    expect(refused(await make({ agent: 'nobody', cwd }))).toEqual([404, 'agent_not_found'])
    expect(refused(await make({ agent: 'scripted', cwd: join(cwd, 'none') }))).toEqual([
      400,
      'validation_error',
    ])
    expect(refused(await make({ agent: 'scripted', cwd: file }))).toEqual([400, 'validation_error'])
  })

  it('refuse unknown and invalid commands', async () => {
    for (const body of [
      { commandId: 'c', type: 'session.explode' },
      { type: 'turn.cancel' },
      { commandId: 'c', type: 'prompt.submit' },
      { commandId: 'c', type: 'prompt.submit', text: '  ' },
      { commandId: 'c', type: 'prompt.submit', text: 'a', parts: [{ type: 'text', text: 'b' }] },
      { commandId: 'c', type: 'permission.decide', requestId: 'r', decision: 'perhaps' },
    ]) {
      expect([body, ...refused(await server.ask(commands(), { body }))]).toEqual([
        body,
        400,
        'validation_error',
      ])
    }
  })

  it('refuse answers to requests that do not exist', async () => {
    const decide = { commandId: 'c2', type: 'permission.decide', requestId: 'req_none', decision: 'allow' }
    expect(refused(await server.ask(commands(), { body: decide }))[1]).toMatch(/^(not_found|conflict)$/)
    const answer = { commandId: 'c3', type: 'question.answer', requestId: 'req_none', answers: { q: 'a' } }
    expect(refused(await server.ask(commands(), { body: answer }))[1]).toMatch(/^(not_found|conflict)$/)
  })

  it('apply a repeated command once, and refuse its id for another command', async () => {
    const body = { commandId: 'twice', type: 'prompt.submit', text: 'hello' }
    const first = await server.ask(commands(), { body })
    expect([first.status, first.body.commandId]).toEqual([202, 'twice'])
    expect((await server.ask(commands(), { body })).body).toEqual(first.body)
    const other = await server.ask(commands(), { body: { ...body, text: 'other' } })
    expect(refused(other)).toEqual([409, 'conflict'])
  })

  it('refuse a cursor beyond the head or of another epoch, and report both', async () => {
    const events = `/api/sessions/${session}/events`
    for (const accept of ['application/json', 'text/event-stream']) {
      for (const query of ['?after=100000', '?after=1&epoch=epo_other', '?epoch=epo_other']) {
        const answer = await server.ask(`${events}${query}`, { headers: { accept } })
        expect([accept, query, ...refused(answer)]).toEqual([accept, query, 409, 'conflict'])
        expect(answer.body.error).toMatchObject({
          details: { head: expect.any(Number), epoch: expect.any(String) },
        })
      }
    }
  })

  it('refuse trust of an invalid folder, and a decision without a folder', async () => {
    const bad = { body: { folder: join(cwd, 'none') } }
    expect(refused(await server.ask('/api/trust', bad))).toEqual([400, 'validation_error'])
    expect(refused(await server.ask('/api/trust', { body: {} }))).toEqual([400, 'validation_error'])
    const nameless = await server.ask('/api/trust', { method: 'DELETE' })
    expect(refused(nameless)).toEqual([400, 'validation_error'])
  })

  it('refuse rules without a target', async () => {
    const body = { tool: 'Bash', decision: 'allow', scope: 'session' }
    expect(refused(await server.ask('/api/rules', { body }))).toEqual([400, 'validation_error'])
    expect(refused(await server.ask('/api/rules', { body: { ...body, scope: 'project' } }))[0]).toBe(400)
    const nowhere = { ...body, scope: 'project', project: join(cwd, 'none') }
    expect(refused(await server.ask('/api/rules', { body: nowhere }))).toEqual([400, 'validation_error'])
  })

  it('refuse an empty first prompt', async () => {
    for (const prompt of ['', ' \n', [], [{ type: 'text', text: ' ' }], [{ type: 'file', name: 'a' }], {}]) {
      const made = await server.ask('/api/sessions', { body: { agent: 'scripted', cwd, prompt } })
      expect(refused(made)).toEqual([400, 'validation_error'])
    }
  })

  it('find no files in a folder that does not exist', async () => {
    for (const query of ['', 'cwd=', `cwd=${join(cwd, 'none')}`, 'cwd=%00'])
      expect(refused(await server.ask(`/api/files?${query}`))).toEqual([400, 'validation_error'])
  })
})

it('refuse null characters in paths and names with a typed error', async () => {
  const bad = encodeURIComponent('a\0b')
  for (const path of [
    `/api/sessions/${session}/changes/patch?path=${bad}`,
    `/api/sessions/${session}/changes/patch?path=a&base=${bad}`,
    `/api/sessions/${session}/changes?base=${bad}`,
    `/api/sessions/${session}/tree?path=${bad}`,
    `/api/sessions/${session}/file?path=${bad}`,
    `/api/files?cwd=${encodeURIComponent(`${cwd}/a\0b`)}`,
    `/api/folders?q=${encodeURIComponent('/a\0b')}`,
  ])
    expect([path, ...refused(await server.ask(path))]).toEqual([path, 400, 'validation_error'])
  for (const [path, body] of [
    ['/api/sessions', { agent: 'scripted', cwd: `${cwd}/a\0b` }],
    ['/api/trust', { cwd: `${cwd}/a\0b` }],
    ['/api/imports', { agent: 'scripted', agentSessionId: 'a\0b', cwd: `${cwd}/a\0b` }],
  ] as const)
    expect([path, (await server.ask(path, { body })).status < 500]).toEqual([path, true])
  for (const path of [
    `/api/sessions/${bad}`,
    `/api/sessions/${session}/files?q=${bad}`,
    `/api/sessions?q=${bad}`,
    `/api/sessions?cursor=${bad}`,
    `/api/agents/scripted/conversations?cwd=${bad}`,
    `/api/agents/${bad}/conversations`,
    `/api/sessions/${session}/export?as=${bad}`,
    `/${bad}`,
    `/assets/${bad}`,
  ])
    expect([path, (await server.ask(path)).status < 500]).toEqual([path, true])
})
