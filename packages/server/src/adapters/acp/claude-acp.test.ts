import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { createMemoryStore } from '../../stores/memory.ts'
import { adapterContract, type Scenarios } from '../../testing/adapter-contract.ts'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import { killChildren } from '../../testing/child-processes.ts'
import { claudeEnvironment } from '../../testing/claude-environment.ts'
import { call, done } from '../../testing/model-answers.ts'
import { answerByPrompt, modelPrompt } from '../../testing/model-by-prompt.ts'
import { claudeScenarios } from '../../testing/model-scenarios.ts'
import { type ModelServer, startModelServer } from '../../testing/model-server.ts'
import { claudeAcp, createAcpAdapter } from './index.ts'

const home = mkdtempSync(join(tmpdir(), 'parley-claude-acp-'))
let server: ModelServer
afterAll(async () => {
  await server?.stop()
  rmSync(home, { recursive: true, force: true, maxRetries: 5 })
})

const adapter = () =>
  createAcpAdapter(claudeAcp, {
    env: claudeEnvironment({ url: server.url, home }),
    agentsFolder: testAgentsFolder(),
  })
const usual = claudeScenarios(home)

const scenarios: Scenarios = {
  ...usual,
  crash: { ...usual.busy, kill: () => killChildren('claude-agent-acp') },
  unstartable: {
    adapter: () => createAcpAdapter(claudeAcp, { env: { PATH: '/nowhere', HOME: home } }),
    code: 'agent_not_found',
  },
  plan: {
    prompt: modelPrompt(
      'Note.',
      call('TodoWrite', { todos: [{ content: 'One', status: 'pending', activeForm: 'Doing one' }] }),
      done,
    ),
  },
  models: { model: 'sonnet' },
}

adapterContract('claude-acp', {
  capabilities: createAcpAdapter(claudeAcp, { env: {} }).capabilities,
  scenarios,
  timeoutMs: 60_000,
  async start() {
    server = await startModelServer()
    answerByPrompt(server, /Parley was restarted/)
    return { adapter, store: createMemoryStore }
  },
})
