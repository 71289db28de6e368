import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createHost } from '../../packages/server/src/index.ts'
import { createMemoryStore } from '../../packages/server/src/stores/memory.ts'
import { answerByPrompt } from '../../packages/server/src/testing/model-by-prompt.ts'
import { startModelServer } from '../../packages/server/src/testing/model-server.ts'
import { realAgents } from '../../packages/server/src/testing/real-agents.ts'

it('the real programs report what their models can do, and nothing else is shown', async () => {
  const place = mkdtempSync(join(tmpdir(), 'parley-models-'))
  const model = await startModelServer()
  answerByPrompt(model, /Parley was restarted/)
  const { claude, codex, opencode } = realAgents({ url: model.url, home: join(place, 'home') })
  const host = await createHost({
    adapters: [claude.adapter(), codex.adapter(), opencode.adapter()],
    store: createMemoryStore(),
  })
  onTestFinished(async () => {
    await host.close()
    await model.stop()
    rmSync(place, { recursive: true, force: true, maxRetries: 5 })
  })

  const before = await host.models()
  expect(before.find(({ agent }) => agent === 'codex')).toMatchObject({
    source: 'probe',
    models: expect.arrayContaining([expect.objectContaining({ reasoning: true, attachments: true })]),
  })
  const claudeBefore = before.find(({ agent }) => agent === 'claude')
  expect(claudeBefore).toMatchObject({ source: 'probe', defaultModel: 'default' })
  expect(claudeBefore?.models.some(({ efforts = [] }) => efforts.length > 0)).toBe(true)

  for (const agent of ['claude', 'opencode']) {
    const { id } = await host.create({ agent, cwd: place, prompt: 'hello' })
    for await (const event of host.events(id)) if (event.type === 'turn.ended') break
  }
  const [ofClaude, , ofOpenCode] = await host.models()
  expect(ofClaude).toMatchObject({ agent: 'claude', source: 'session', seenAt: expect.any(Number) })
  expect(ofClaude?.models.some(({ reasoning }) => reasoning)).toBe(true)
  // Claude Code reports limits only for a model that was used, and names the small one by its alias.
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
