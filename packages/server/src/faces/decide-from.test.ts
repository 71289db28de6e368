import { newId } from '@parley/protocol'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type AccessUnderTest, accessUnderTest, machineToken } from './access-under-test.ts'
import { codeOf, deviceUnderTest } from './http/device-under-test.ts'
import type { Answer } from './http/server-under-test.ts'

/** Tests `decideFrom: devices`: tokens on disk cannot decide, and cannot create a credential that can decide. */

let server: AccessUnderTest
let named: string
beforeAll(async () => {
  server = await accessUnderTest(() => ({}), { decideFrom: 'devices' })
  const body = { name: 'all that it may have', scopes: ['read', 'prompt', 'terminal', 'admin'] }
  named = (await server.ask('/api/tokens', { body }, machineToken)).body.token as string
}, 60_000)
afterAll(() => server[Symbol.asyncDispose]())

const errorOf = ({ body }: Answer) =>
  body.error as { code?: string; message?: string; details?: object } | undefined
const newDevice = () =>
  deviceUnderTest({ ask: (path, asked) => server.ask(path, asked), link: () => server.parley.http.link() })

it('only the first browser that signs in with a link of the machine may decide', async () => {
  for (const scopes of [
    ['read', 'prompt', 'decide', 'terminal', 'admin'],
    ['read', 'prompt', 'terminal', 'admin'],
  ]) {
    const { body } = await server.ask('/api/links', { method: 'POST' }, machineToken)
    const registered = await newDevice().register(codeOf(body.url as string))
    expect(registered.body.scopes).toEqual(scopes)
  }
})

it.each([
  ['permission.decide', { type: 'permission.decide', requestId: 'r', decision: 'allow' }],
  ['question.answer', { type: 'question.answer', requestId: 'r', answers: {} }],
  ['the mode bypass', { type: 'session.configure', mode: 'bypass' }],
  ['MCP servers', { type: 'session.configure', mcpServers: {} }],
])('tokens are refused with the reason: %s', async (_, command) => {
  const id = await server.session()
  for (const token of [machineToken, named]) {
    const body = { commandId: newId('cmd'), ...command }
    const error = errorOf(await server.ask(`/api/sessions/${id}/commands`, { body }, token))
    expect(error).toMatchObject({ code: 'forbidden', details: { scope: 'decide' } })
    expect(error?.message).toContain('decideFrom: devices')
  }
})

it.each<[string, string, object]>([
  ['a rule', '/api/rules', { tool: 'Bash', decision: 'allow', scope: 'always' }],
  ['trust', '/api/trust', { folder: '/tmp' }],
  ['variables', '/api/environment', { folder: '/tmp', variables: { X: '1' } }],
  ['a session in the mode bypass', '/api/sessions', { agent: 'scripted', cwd: '/tmp', mode: 'bypass' }],
  ['a token that decides', '/api/tokens', { name: 'x', scopes: ['decide'] }],
  ['an approver', '/api/invites', { role: 'approver' }],
])('tokens are refused when they create %s', async (_, path, body) => {
  for (const token of [machineToken, named])
    expect(errorOf(await server.ask(path, { body }, token))?.code).toBe('forbidden')
})

it('tokens cannot give a person the role of an approver', async () => {
  const { url } = (await server.ask('/api/invites', { body: { role: 'member' } }, machineToken)).body
  const { body } = await newDevice().register(codeOf(url as string), { name: 'Member' })
  const patch = { method: 'PATCH', body: { role: 'approver' } }
  expect(errorOf(await server.ask(`/api/people/${body.personId}`, patch, machineToken))?.code).toBe(
    'forbidden',
  )
})

it('a browser that signs in with the link from the start of the server may decide', async () => {
  const device = newDevice()
  await device.register()
  const id = await server.session()
  const body = { type: 'session.configure', commandId: newId('cmd'), mode: 'accept-edits' }
  expect((await server.ask(`/api/sessions/${id}/commands`, { body }, await device.token())).status).toBe(202)
})
