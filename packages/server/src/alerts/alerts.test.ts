import { join } from 'node:path'
import { newId } from '@parley/protocol'
import { expect, it } from 'vitest'
import { type AccessUnderTest, accessUnderTest, machineToken } from '../faces/access-under-test.ts'
import { openSqliteStore } from '../index.ts'
import { Browser, Receiver } from './receivers-under-test.ts'

const asks = JSON.stringify([{ type: 'permission', tool: 'Write', name: 'Write', input: { path: 'a' } }])

async function prompt({ parley }: AccessUnderTest, session: string, text: string): Promise<void> {
  await parley.host.command(session, { type: 'prompt.submit', commandId: newId('cmd'), text })
}

async function decide({ parley }: AccessUnderTest, session: string): Promise<void> {
  const { requests } = await parley.host.state(session)
  const requestId = requests[0]?.requestId ?? ''
  await parley.host.command(session, {
    type: 'permission.decide',
    commandId: newId('cmd'),
    requestId,
    decision: 'allow',
  })
}

it('a server sends alerts to a webhook and to a browser, and replaces the alert about an answered request', async () => {
  let secret = ''
  const browser = new Browser()
  await using hook = await Receiver.webhook(() => secret)
  await using service = await Receiver.push([browser])
  const alerts = { privateTargets: true, pushServices: [service.origin], waitMs: 200 }
  await using server = await accessUnderTest(() => ({ phone: { scopes: ['read', 'decide'] } }), { alerts })
  const { phone } = server.tokens
  const body = { kind: 'webhook', url: `${hook.origin}/x` }
  const added = await server.ask('/api/targets', { body }, machineToken)
  expect(added.status).toBe(201)
  secret = added.body.secret as string
  const push = { kind: 'push', endpoint: service.origin + browser.path, keys: browser.keys }
  expect((await server.ask('/api/targets', { body: push }, phone)).body).toMatchObject({ current: true })

  const session = await server.session()
  await prompt(server, session, asks)
  await hook.count(1)
  const [pushed] = await service.count(1)
  const waiting = hook.received[0]?.json as { type: string; timestamp: string }
  expect(waiting.type).toBe('request.waiting')
  expect((pushed?.at ?? 0) - Date.parse(waiting.timestamp)).toBeGreaterThanOrEqual(200)
  await decide(server, session)
  await hook.count(3)
  await service.count(3)
  expect(hook.received.map(({ json }) => json.type).sort()).toEqual([
    'request.resolved',
    'request.waiting',
    'turn.ended',
  ])
  const pushes = service.received.map(({ json }) => json.notification as { silent?: true; tag: string })
  expect(pushes.filter(({ silent }) => silent).map(({ tag }) => tag)).toEqual([pushes[0]?.tag])
  expect([...hook.problems, ...service.problems]).toEqual([])
})

it('while a page of the person is visible, pushes are held back', async () => {
  const browser = new Browser()
  await using service = await Receiver.push([browser])
  const alerts = { pushServices: [service.origin], waitMs: 50 }
  await using server = await accessUnderTest(
    () => ({ phone: { scopes: ['read'] }, desktop: { scopes: ['read'] } }),
    { alerts },
  )
  const push = { kind: 'push', endpoint: service.origin + browser.path, keys: browser.keys }
  await server.ask('/api/targets', { body: push }, server.tokens.phone)
  const page = await server.connect(server.tokens.desktop)
  page.send({ type: 'presence', visible: true })
  page.send({ type: 'ping' })
  await page.until(({ type }) => type === 'pong')
  const session = await server.session()
  await prompt(server, session, '[{"type":"text","text":"x"}]')
  await expect.poll(async () => (await server.parley.host.state(session)).completedTurns).toBe(1)
  await prompt(server, session, asks)
  await expect.poll(async () => (await server.parley.host.state(session)).requests.length).toBe(1)
  page.socket.close()
  const [pushed] = await service.count(1)
  // The push about the first turn was dropped, because the page was visible. The push about the request waited.
  expect(JSON.stringify(pushed?.json.notification)).toMatch(/needs your approval/)
})

it('a device that is signed out gets no further alerts', async () => {
  const browser = new Browser()
  await using service = await Receiver.push([browser])
  await using hook = await Receiver.open()
  const alerts = { pushServices: [service.origin], privateTargets: true, waitMs: 0 }
  await using server = await accessUnderTest(() => ({ phone: { scopes: ['read'] } }), { alerts })
  const push = { kind: 'push', endpoint: service.origin + browser.path, keys: browser.keys }
  await server.ask('/api/targets', { body: push }, server.tokens.phone)
  await server.ask('/api/targets', { body: { kind: 'webhook', url: hook.origin } }, machineToken)
  const session = await server.session()
  await prompt(server, session, '[{"type":"text","text":"x"}]')
  await service.count(1)
  expect((await server.ask('/api/sign-out', { method: 'POST' }, server.tokens.phone)).status).toBeLessThan(
    300,
  )
  await prompt(server, session, '[{"type":"text","text":"x"}]')
  await hook.count(2)
  expect(service.received).toHaveLength(1)
})

it('routes refuse invalid targets with a reason', async () => {
  await using server = await accessUnderTest(() => ({}))
  for (const body of [
    { kind: 'webhook', url: 'https://127.0.0.1/' },
    { kind: 'webhook', url: 'http://example.org/' },
    { kind: 'push', endpoint: 'https://push.example.org/' },
    { kind: 'mail', url: 'mailto:a@b' },
  ]) {
    const answer = await server.ask('/api/targets', { body }, machineToken)
    expect(answer.status).toBe(400)
    expect(answer.body.error).toMatchObject({ code: 'validation_error' })
  }
  expect((await server.ask('/api/targets/tgt_x/test', { method: 'POST' }, machineToken)).status).toBe(404)
})

it('a server without targets stores nothing for alerts', async () => {
  await using server = await accessUnderTest(() => ({}))
  const page = await server.connect(machineToken)
  page.send({ type: 'presence', visible: true })
  const session = await server.session()
  await prompt(server, session, '[{"type":"text","text":"x"}]')
  await expect.poll(async () => (await server.parley.host.state(session)).completedTurns).toBe(1)
  await server.parley.close()
  const store = openSqliteStore({ file: join(server.folder, 'data', 'parley.sqlite') })
  expect(await store.alertCursor(session)).toBeUndefined()
  await store.close()
})
