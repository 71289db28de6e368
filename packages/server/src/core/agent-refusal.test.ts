import type { AgentMemory } from '@parley/adapter-kit'
import { ParleyError } from '@parley/protocol'
import { expect, it } from 'vitest'
import { createMemoryStore } from '../stores/memory.ts'
import { hostUnderTest } from './host-under-test.ts'

it('no session of an agent can be created while its program is missing', async () => {
  let isThere = false
  const missing = new ParleyError('agent_not_found', 'Scripted was not found. Install it: parley …')
  await using world = await hostUnderTest({
    adapter: (scripted) => ({ ...scripted, refusal: () => (isThere ? undefined : missing) }),
  })
  await expect(world.create({ prompt: 'hello' })).rejects.toBe(missing)
  expect(await world.host.list({ limit: 10 })).toEqual({ sessions: [] })
  expect(world.connections).toEqual([])

  isThere = true
  const commandId = 'one and the same'
  const made = await world.create({ commandId })
  isThere = false
  expect((await world.create({ commandId })).id).toBe(made.id)
  await expect(world.create({ commandId: 'another' })).rejects.toBe(missing)
})

it('an unknown agent is distinguished from one that is not installed, and the known agents are listed', async () => {
  await using world = await hostUnderTest()
  await expect(world.create({ agent: 'nope' })).rejects.toMatchObject({
    code: 'agent_not_found',
    message: 'There is no agent "nope". Known agents: scripted.',
    details: { agents: ['scripted'] },
  })
})

it('conversations are matched with sessions in one query to the store', async () => {
  const store = createMemoryStore()
  const asked: unknown[] = []
  const noLooking = async () => {
    throw new Error('every session was looked at')
  }
  const found = ['known', 'new'].map((agentSessionId, index) => ({
    agentSessionId,
    title: agentSessionId,
    cwd: '/w',
    updatedAt: index,
  }))
  const conversations: AgentMemory = {
    list: async () => found,
    async *read() {
      yield { type: 'prompt', at: 1, parts: [{ type: 'text', text: 'Water the herbs' }] }
    },
  }
  let isWatched = false
  await using world = await hostUnderTest({
    store: {
      ...store,
      list: (query) => (isWatched ? noLooking() : store.list(query)),
      load: (id) => (isWatched ? noLooking() : store.load(id)),
      sessionsOf: (...given) => {
        asked.push(given)
        return store.sessionsOf(...given)
      },
    },
    adapter: (scripted) => ({ ...scripted, conversations }),
  })
  found[0] = { ...found[0]!, cwd: world.cwd }
  const session = await world.host.importConversation({ agent: 'scripted', agentSessionId: 'known' })
  asked.length = 0
  isWatched = true
  const listed = await world.host.conversations('scripted')
  expect(listed.map(({ agentSessionId, sessionId }) => [agentSessionId, sessionId])).toEqual([
    ['new', undefined],
    ['known', session.id],
  ])
  expect(asked).toEqual([['scripted', ['known', 'new']]])
  isWatched = false
})
