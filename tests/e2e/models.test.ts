import { expect, it, onTestFinished } from 'vitest'
import { createHost } from '../../packages/server/src/index.ts'
import { createMemoryStore } from '../../packages/server/src/stores/memory.ts'
import { AgentHome } from '../../packages/server/src/testing/agent-home.ts'
import { realAgents } from '../../packages/server/src/testing/real-agents.ts'

it('the real programs report what their models can do, and nothing else is shown', async () => {
  const home = await AgentHome.forTest()
  const { claude, codex, opencode } = realAgents(home)
  const host = await createHost({
    adapters: [claude.adapter(), codex.adapter(), opencode.adapter()],
    store: createMemoryStore(),
  })
  onTestFinished(() => host.close())

  const before = await host.models()
  expect(before.find(({ agent }) => agent === 'codex')).toMatchObject({
    source: 'probe',
    models: expect.arrayContaining([expect.objectContaining({ reasoning: true, attachments: true })]),
  })
  const claudeBefore = before.find(({ agent }) => agent === 'claude')
  expect(claudeBefore).toMatchObject({ source: 'probe', defaultModel: 'default' })
  expect(claudeBefore?.models.some(({ efforts = [] }) => efforts.length > 0)).toBe(true)

  for (const agent of ['claude', 'opencode']) {
    const { id } = await host.create({ agent, cwd: home.path, prompt: 'hello' })
    for await (const event of host.events(id)) if (event.type === 'turn.ended') break
  }
  const [ofClaude, , ofOpenCode] = await host.models()
  expect(ofClaude).toMatchObject({ agent: 'claude', source: 'session', seenAt: expect.any(Number) })
  expect(ofClaude?.models.some(({ reasoning }) => reasoning)).toBe(true)
  // Claude Code reports limits only for a model that was used, and names the small model by its alias.
  expect(ofClaude).toMatchObject({ defaultModel: 'default', defaultSmallModel: 'haiku' })
  const used = ofClaude?.models.filter(({ contextWindow }) => contextWindow !== undefined)
  expect(used).toContainEqual(
    expect.objectContaining({
      contextWindow: expect.any(Number),
      maxOutputTokens: expect.any(Number),
      resolvesTo: expect.stringMatching(/^claude-/),
    }),
  )
  expect(ofClaude?.models.every(({ price }) => price === undefined)).toBe(true)
  expect(ofOpenCode?.defaultModel).toBe('mock/m1')
  expect(ofOpenCode?.models.find(({ id }) => id === 'mock/m1')).toMatchObject({
    contextWindow: 100_000,
    maxOutputTokens: 4_096,
    reasoning: true,
    attachments: true,
    price: { input: 1, output: 2 },
    efforts: expect.arrayContaining(['high']),
  })
})
