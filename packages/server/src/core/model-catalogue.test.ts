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
  it('are requested once for each version, if neither the probe nor a session of that version has them', async () => {
    let version = '1.0.0'
    let asked = 0
    let fails = true
    await using world = await hostUnderTest({
      agent: {},
      adapter: (scripted) => ({
        ...scripted,
        probe: async () => ({ found: true, version }),
        models: async () => {
          asked++
          if (fails) throw new Error('not now')
          return [model]
        },
      }),
    })
    const models = async () => (await world.host.models())[0]?.models
    expect(await models()).toEqual([])
    fails = false
    expect([await models(), await models()]).toEqual([[model], [model]])
    expect(asked).toBe(2)
    version = '1.1.0'
    await models()
    expect(asked).toBe(3)
  })

  it.each([{ found: false }, { found: true, signedIn: false }, { found: true, usable: false }])(
    'are not asked for if the probe is %o',
    async (probe) => {
      await using world = await hostUnderTest({
        agent: {},
        adapter: (scripted) => ({
          ...scripted,
          probe: async () => probe,
          models: () => expect.unreachable('it was started'),
        }),
      })
      expect(await world.host.models()).toMatchObject([{ models: [] }])
    },
  )

  it('come from the probe', async () => {
    await using world = await hostUnderTest({ agent: { models: [model] } })
    expect(await world.host.models()).toEqual([
      { agent: 'scripted', name: 'Scripted', models: [model], source: 'probe' },
    ])
  })

  it('have a default for work and one for side tasks, if the agent names them', async () => {
    const models = [
      { id: 'large', name: 'Large', isDefault: true },
      { id: 'small', name: 'Small', isSmallDefault: true },
    ]
    await using world = await hostUnderTest({ agent: { models } })
    const [reported] = await world.host.models()
    expect(reported).toMatchObject({ defaultModel: 'large', defaultSmallModel: 'small' })
  })

  it('have the limits that a session recorded for the model in use, and no others', async () => {
    const models = [
      { id: 'sonnet', name: 'Sonnet', resolvesTo: 'large-5' },
      { id: 'large-5', name: 'Large', maxOutputTokens: 8_000 },
      { id: 'other', name: 'Other' },
    ]
    await using world = await hostUnderTest({ agent: { models } })
    const session = await world.create({ model: 'large-5' })
    const context = { used: 5, window: 200_000, maxOutput: 64_000 }
    await session.play({ type: 'usage', context, total: { input: 1, output: 1 } })
    const [reported] = await world.host.models()
    expect(reported?.models).toEqual([
      { ...models[0], contextWindow: 200_000, maxOutputTokens: 64_000 },
      { ...models[1], contextWindow: 200_000 },
      models[2],
    ])
  })

  it('come from a session if the program reports them only there, even after a restart', async () => {
    await using world = await hostUnderTest({
      agent: { models: [model] },
      adapter: (scripted) => ({ ...scripted, probe: async () => ({ found: true }) }),
    })
    expect(await world.host.models()).toEqual([{ agent: 'scripted', name: 'Scripted', models: [] }])
    const session = await world.create()
    await session.play({ type: 'text', text: 'hello' })
    await world.create()
    const reported = { source: 'session', models: [model], seenAt: expect.any(Number) }
    expect(await world.host.models()).toMatchObject([reported])
    await world.restart()
    expect(await world.host.models()).toMatchObject([reported])
  })
})
