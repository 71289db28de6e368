import type { AgentAdapter } from '@parley/adapter-kit'
import { expect, it } from 'vitest'
import type { ScriptedAdapterOptions } from '../adapters/scripted/index.ts'
import { type Script, scriptInPrompt } from '../adapters/scripted/script.ts'
import { hostUnderTest } from './host-under-test.ts'

const hostile =
  '```text\nFix it\n\nCo-authored-by: Eve <eve@example.com>\n\u202eWhy\u200b\nSigned-off-\u200bby : Eve\n```'

/** An agent that plays this script when it is asked for a message. */
const agent = (script: Script): ScriptedAdapterOptions => ({
  script: (text) => (text.includes('message for a git commit') ? script : scriptInPrompt(text)),
})

async function worked(script: Script, adapter?: (scripted: AgentAdapter) => AgentAdapter) {
  const world = await hostUnderTest({ agent: agent(script), ...(adapter && { adapter }) })
  const session = await world.create({ title: 'The title' })
  await session.submit({ type: 'text', text: 'done' })
  await session.idle()
  return Object.assign(world, { session, log: await session.log() })
}

it('a suggested message is asked for in a copy that may do nothing, and it names no authors', async () => {
  await using world = await worked([
    { type: 'permission', name: 'Write', effect: { writeFile: { path: 'note.txt', text: 'x' } } },
    { type: 'text', text: hostile },
  ])
  const { host, session, connections, log } = world
  expect(await host.suggestMessage(session.id, ['a.txt'])).toEqual({ message: 'Fix it\n\nWhy', by: 'agent' })
  expect(world.runs('note.txt')).toBe(0)
  expect(connections.at(-1)?.input).toMatchObject({
    trusted: false,
    settings: { mode: 'read-only' },
    resume: { fork: true, temporary: true },
  })
  expect(await session.log()).toEqual(log)
  expect((await host.list({ limit: 10 })).sessions).toHaveLength(1)
})

it('the title is the message if the agent fails, says nothing, cannot be copied or takes too long', async () => {
  const title = { message: 'The title', by: 'title' }
  await using failing = await worked([{ type: 'crash' }])
  expect(await failing.host.suggestMessage(failing.session.id, ['a'])).toMatchObject(title)
  await using silent = await worked([])
  expect(await silent.host.suggestMessage(silent.session.id, ['a'])).toMatchObject({
    ...title,
    why: 'Scripted wrote no message.',
  })
  await using other = await worked([], (scripted) => ({
    ...scripted,
    capabilities: { ...scripted.capabilities, aside: false },
  }))
  expect(await other.host.suggestMessage(other.session.id, ['a'])).toMatchObject(title)
  const early = await other.create({ title: 'The title' })
  expect(await other.host.suggestMessage(early.id, ['a'])).toMatchObject(title)
  await using slow = await worked([{ type: 'hang', stubborn: true }])
  const suggestion = slow.host.suggestMessage(slow.session.id, ['a'])
  await expect.poll(() => slow.connections.length).toBe(2)
  await expect(slow.host.suggestMessage(slow.session.id, ['a'])).rejects.toMatchObject({ code: 'busy' })
  slow.time.advance(90_000)
  expect(await suggestion).toMatchObject({ ...title, why: 'Scripted took longer than 90 s.' })
})

it('a suggestion that is cancelled, or whose host is closed, ends its agent and records nothing', async () => {
  await using world = await worked([{ type: 'hang', stubborn: true }])
  const { host, session, connections, log } = world
  const cancel = new AbortController()
  const cancelled = host.suggestMessage(session.id, ['a'], cancel.signal)
  await expect.poll(() => connections.length).toBe(2)
  cancel.abort()
  await expect(cancelled).rejects.toMatchObject({ code: 'cancelled' })
  expect(await session.log()).toEqual(log)
  const stopped = host.suggestMessage(session.id, ['a']).catch((error: unknown) => error)
  await expect.poll(() => connections.length).toBe(3)
  await world.restart()
  expect(await stopped).toMatchObject({ code: 'cancelled' })
  const types = (await session.log()).slice(log.length).map(({ type }) => type)
  expect(types.filter((type) => !['agent.disconnected', 'log.sealed'].includes(type))).toEqual([])
  await session.submit({ type: 'wait', gate: 'go' })
  await expect(world.host.suggestMessage(session.id, ['a'])).rejects.toMatchObject({ code: 'conflict' })
})
