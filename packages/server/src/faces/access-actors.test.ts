import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { type Actor, newId, type SessionEvent } from '@parley/protocol'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { type CommandMessage, channelNames } from '../telemetry/index.ts'
import { type AccessUnderTest, accessUnderTest, machineToken } from './access-under-test.ts'

/** Tests that every effect of a request names its caller: in the log, in exports, in rules and trust, in telemetry. */

let server: AccessUnderTest
let token: string
let tokenId: string
beforeAll(async () => {
  server = await accessUnderTest(() => ({}))
  const scopes = ['read', 'prompt', 'decide', 'admin']
  const created = await server.ask('/api/tokens', { body: { name: 'Night build', scopes } }, machineToken)
  token = created.body.token as string
  tokenId = created.body.tokenId as string
}, 60_000)
afterAll(() => server[Symbol.asyncDispose]())

const ask = (path: string, body?: unknown, method?: string) =>
  server.ask(path, { ...(body !== undefined && { body }), ...(method && { method }) }, token)
const named = (via: Actor['via']) => ({ token: { id: tokenId, name: 'Night build' }, via })
const command = (id: string, body: object) =>
  ask(`/api/sessions/${id}/commands`, { commandId: newId('cmd'), ...body })

async function log(id: string): Promise<SessionEvent[]> {
  const { events } = await server.parley.host.read(id, { limit: 500 })
  return events.map(({ json }) => JSON.parse(json) as SessionEvent)
}

async function asking(): Promise<{ id: string; requestId: string }> {
  const prompt = JSON.stringify([
    { type: 'permission', name: 'Write', kind: 'edit', title: 'Write x', input: { file_path: 'x' } },
  ])
  const { body } = await ask('/api/sessions', { agent: 'scripted', cwd: server.folder, prompt })
  const id = body.id as string
  const open = async () => (await server.parley.host.state(id)).requests
  await expect.poll(async () => (await open()).length).toBe(1)
  return { id, requestId: (await open())[0]?.requestId ?? '' }
}

it('a session, its prompt, a decision and changes of its settings name their actors', async () => {
  const { id, requestId } = await asking()
  await command(id, { type: 'permission.decide', requestId, decision: 'allow' })
  await command(id, { type: 'session.configure', model: 'scripted-small' })
  await ask(`/api/sessions/${id}`, { title: 'Renamed', pinned: true }, 'PATCH')
  await command(id, { type: 'session.fork' })
  const caused = ['session.created', 'prompt.submitted', 'permission.resolved', 'session.configured']
  const later = ['session.renamed', 'session.pinned', 'session.forked']
  const events = await log(id)
  for (const type of [...caused, ...later]) {
    const actors = events.filter((event) => event.type === type).map(({ actor }) => actor)
    expect(actors, type).toContainEqual(expect.objectContaining(named('http')))
  }
  for (const { type, actor } of events) if (actor) expect([...caused, ...later]).toContain(type)
})

it('a fork names its actor', async () => {
  const id = await server.session()
  const { body } = await command(id, { type: 'session.fork', title: 'A copy' })
  expect((await log(body.sessionId as string)).find(({ type }) => type === 'session.renamed')).toMatchObject({
    actor: named('http'),
  })
})

it('exports name the actors of prompts and decisions', async () => {
  const { id, requestId } = await asking()
  await command(id, { type: 'permission.decide', requestId, decision: 'deny' })
  for (const format of ['markdown', 'html']) {
    const { text } = await ask(`/api/sessions/${id}/export?as=${format}`)
    expect(text.match(/by \w+ \(Night build\)/g)).toHaveLength(2)
  }
  const { text } = await ask(`/api/sessions/${id}/export?as=jsonl`)
  expect(text.split(tokenId).length).toBeGreaterThan(3)
})

it('rules, grants and trusted folders name their creators', async () => {
  const rule = await ask('/api/rules', { tool: 'Bash', decision: 'deny', scope: 'always' })
  expect(rule.body.createdBy).toMatchObject(named('http'))
  const trust = await ask('/api/trust', { folder: server.folder })
  expect(trust.body.trustedBy).toMatchObject(named('http'))
  const { id, requestId } = await asking()
  await command(id, { type: 'permission.decide', requestId, decision: 'allow', scope: 'session' })
  const rules = (await ask('/api/rules')).body.rules as { sessionId?: string }[]
  expect(rules.find(({ sessionId }) => sessionId === id)).toMatchObject({ createdBy: named('http') })
})

it('commands over a WebSocket and prompts of a chat name their face', async () => {
  const id = await server.session()
  const { send, until } = await server.connect(token)
  send({ type: 'command', session: id, command: { type: 'prompt.submit', commandId: 'ws', text: '[]' } })
  await until(({ type }) => type === 'receipt')
  expect((await log(id)).find(({ type }) => type === 'prompt.submitted')).toMatchObject({
    actor: named('websocket'),
  })
  const message = { id: newId('cmd'), role: 'user', parts: [{ type: 'text', text: '[]' }] }
  await ask('/api/chat', { id, messages: [message] })
  const prompts = (await log(id)).filter(({ type }) => type === 'prompt.submitted')
  expect(prompts.at(-1)).toMatchObject({ actor: named('chat') })
})

it('a commandId of another sender is a conflict, for commands and for new sessions', async () => {
  const id = await server.session()
  const body = { type: 'prompt.submit', commandId: 'shared', text: '[]' }
  const path = `/api/sessions/${id}/commands`
  const first = await ask(path, body)
  expect((await ask(path, body)).body).toEqual(first.body)
  expect((await server.ask(path, { body }, machineToken)).body.error).toMatchObject({ code: 'conflict' })
  const creation = { agent: 'scripted', cwd: server.folder, commandId: 'created once' }
  const created = await ask('/api/sessions', creation)
  expect((await ask('/api/sessions', creation)).body.id).toBe(created.body.id)
  const taken = await server.ask('/api/sessions', { body: creation }, machineToken)
  expect(taken.body.error).toMatchObject({ code: 'conflict' })
})

it('the telemetry of a command names its sender, even if the command is refused', async () => {
  const heard: CommandMessage[] = []
  const hear = (message: unknown) => void heard.push(message as CommandMessage)
  subscribe(channelNames.command, hear)
  onTestFinished(() => void unsubscribe(channelNames.command, hear))
  const id = await server.session()
  await command(id, { type: 'prompt.submit', text: '[]' })
  await command(id, { type: 'permission.decide', requestId: 'unknown', decision: 'allow' })
  for (const message of heard) expect(message.actor).toMatchObject(named('http'))
  expect(heard.map(({ error }) => error?.code)).toEqual([undefined, 'not_found'])
})
