import type { AgentModel } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { hostUnderTest } from './host-under-test.ts'

const model: AgentModel = {
  id: 'large',
  name: 'Large',
  contextWindow: 200_000,
  maxOutputTokens: 32_000,
  reasoning: true,
  attachments: false,
  price: { input: 3, output: 15, cacheRead: 0.3 },
}

describe('the models of an agent', () => {
  it('are what the program tells when it is looked for', async () => {
    await using world = await hostUnderTest({ agent: { models: [model] } })
    expect(await world.host.models()).toEqual([
      { agent: 'scripted', name: 'Scripted', models: [model], source: 'probe' },
    ])
  })

  it('are what a session was told, if the program tells them only at work; also after a restart', async () => {
    await using world = await hostUnderTest({
      agent: { models: [model] },
      adapter: (scripted) => ({ ...scripted, probe: async () => ({ found: true }) }),
    })
    expect(await world.host.models()).toEqual([{ agent: 'scripted', name: 'Scripted', models: [] }])
    const session = await world.create()
    await session.play({ type: 'text', text: 'hello' })
    await world.create()
    const told = { source: 'session', models: [model], seenAt: expect.any(Number) }
    expect(await world.host.models()).toMatchObject([told])
    await world.restart()
    expect(await world.host.models()).toMatchObject([told])
  })
})
