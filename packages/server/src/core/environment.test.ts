import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { capabilities } from '@parley/protocol'
import { expect, it, onTestFinished } from 'vitest'
import { scriptedCapabilities } from '../adapters/scripted/index.ts'
import { type HostUnderTest, type HostUnderTestOptions, hostUnderTest } from './host-under-test.ts'

const secret = 'sk-parsley-0123456789'
const hello = { type: 'text' as const, text: 'Hello.' }
const taking = { capabilities: capabilities(...scriptedCapabilities, 'environment') }

async function world(options: HostUnderTestOptions = { agent: taking }): Promise<HostUnderTest> {
  const made = await hostUnderTest(options)
  onTestFinished(async () => {
    await made[Symbol.asyncDispose]()
    expect(made.problems).toEqual([])
  })
  return made
}

const given = ({ connections }: HostUnderTest) => connections.map(({ input }) => input.env)

it('passes the variables of a session to its agent and to no other, from its first start on', async () => {
  const made = await world()
  const session = await made.create({ env: { API_KEY: secret } })
  await session.play(hello)
  await (await made.create()).play(hello)
  expect(given(made)).toEqual([{ API_KEY: secret }, undefined])
})

it('restarts the agent with changed variables, and resumes its conversation', async () => {
  const made = await world()
  const { host } = made
  const session = await made.create({ env: { API_KEY: secret } })
  await session.play(hello)
  await host.setEnvironment({ sessionId: session.id, variables: { REGION: 'eu' } })
  await session.when(({ connected }) => !connected)
  await session.play(hello)
  await host.unsetEnvironment({ sessionId: session.id, name: 'API_KEY' })
  await session.when(({ connected }) => !connected)
  await session.play(hello)
  expect(given(made)).toEqual([{ API_KEY: secret }, { API_KEY: secret, REGION: 'eu' }, { REGION: 'eu' }])
  expect(made.connections[2]?.input.resume).toBeDefined()
})

it('does not restart the agent when variables of another session or folder change', async () => {
  const made = await world()
  const other = join(made.cwd, 'other')
  mkdirSync(other)
  const session = await made.create()
  await session.play(hello)
  await made.host.setEnvironment({ folder: other, variables: { REGION: 'eu' } })
  await session.play(hello)
  expect(made.connections).toHaveLength(1)
})

it('passes the variables of a folder to all sessions inside it; inner folders and sessions take precedence', async () => {
  const made = await world()
  const { host, cwd } = made
  const inner = join(cwd, 'inner')
  mkdirSync(inner)
  await host.setEnvironment({ folder: inner, variables: { REGION: 'eu', B: 'inner' } })
  await host.setEnvironment({ folder: cwd, variables: { REGION: 'us', A: 'outer', C: 'outer' } })
  await (await made.create({ cwd: inner, env: { C: 'session' } })).play(hello)
  expect(given(made)).toEqual([{ REGION: 'eu', A: 'outer', B: 'inner', C: 'session' }])
})

it('shows names but no values, in replies, in the log and in the stored state', async () => {
  const made = await world()
  const { host, cwd } = made
  const session = await made.create({ env: { API_KEY: secret }, commandId: 'once' })
  await host.setEnvironment({ folder: cwd, variables: { TOKEN: secret } })
  await session.play(hello)
  const { events } = await host.read(session.id, { limit: 1000 })
  const seen = {
    listed: await host.environments(),
    detail: await host.detail(session.id, 100),
    sessions: await host.list({ limit: 10 }),
    stored: await made.store.load(session.id),
    events,
  }
  expect(seen.listed).toEqual([
    { sessionId: session.id, names: ['API_KEY'] },
    { folder: cwd, names: ['TOKEN'] },
  ])
  expect(JSON.stringify(seen)).not.toContain(secret)
})

it('keeps variables across a restart, passes them to a fork, and deletes them with the session', async () => {
  const made = await world()
  const session = await made.create({ env: { API_KEY: secret } })
  await session.play(hello)
  const { sessionId: fork = '' } = await session.command({ type: 'session.fork' })
  await made.restart()
  const { host } = made
  expect(await host.environments()).toEqual([
    { sessionId: session.id, names: ['API_KEY'] },
    { sessionId: fork, names: ['API_KEY'] },
  ])
  await host.delete(session.id)
  await host.delete(fork)
  expect(await host.environments()).toEqual([])
  expect(await made.store.environments()).toEqual([])
})

it.each([
  'PARLEY_AGENT_PROCESS',
  'PARLEY_TOKEN',
  'LD_PRELOAD',
  'DYLD_INSERT_LIBRARIES',
  'NODE_OPTIONS',
  'node_options',
  'BASH_ENV',
  'PATH',
  'HOME',
  'AGENT_HOME',
])('refuses %s, on which Parley depends, and creates no session', async (name) => {
  const made = await world({
    agent: taking,
    adapter: (scripted) => ({ ...scripted, variables: { reserved: ['AGENT_*'], open: ['AGENT_KEY'] } }),
  })
  const refusal = { code: 'validation_error', details: { variable: name } }
  const variables = { AGENT_KEY: secret, [name]: 'x' }
  await expect(made.create({ env: variables })).rejects.toMatchObject(refusal)
  await expect(made.host.setEnvironment({ folder: made.cwd, variables })).rejects.toMatchObject(refusal)
  expect((await made.host.list({ limit: 10 })).sessions).toEqual([])
  expect(await made.host.environments()).toEqual([])
})

it('refuses invalid names and values, without repeating the value', async () => {
  const { host, cwd } = await world()
  for (const variables of [{ 'A=B': secret }, { '': secret }, { A: `${secret}\0` }]) {
    const refusal = await host.setEnvironment({ folder: cwd, variables }).catch((thrown: unknown) => thrown)
    expect(refusal).toMatchObject({ code: 'validation_error' })
    expect(JSON.stringify(refusal) + String(refusal)).not.toContain(secret)
  }
})

it('refuses variables for an agent that does not support them, and starts it without those of its folder', async () => {
  const made = await world({})
  const { host, cwd } = made
  const refusal = { code: 'not_supported', details: { capability: 'environment' } }
  await expect(made.create({ env: { A: 'b' } })).rejects.toMatchObject(refusal)
  const session = await made.create()
  const variables = { A: 'b' }
  await expect(host.setEnvironment({ sessionId: session.id, variables })).rejects.toMatchObject(refusal)
  await host.setEnvironment({ folder: cwd, variables })
  await session.play(hello)
  expect(given(made)).toEqual([undefined])
})

it('refuses to remove variables that are not set', async () => {
  const { host, cwd } = await world()
  const refusal = { code: 'not_found' }
  await expect(host.unsetEnvironment({ folder: cwd })).rejects.toMatchObject(refusal)
  await host.setEnvironment({ folder: cwd, variables: { A: 'b' } })
  await expect(host.unsetEnvironment({ folder: cwd, name: 'B' })).rejects.toMatchObject(refusal)
  await host.unsetEnvironment({ folder: cwd })
  expect(await host.environments()).toEqual([])
})
