import { killChildren, type Scenarios } from '@parley/adapter-kit/testing'
import { adapterContract } from '../../testing/adapter-contract.ts'
import { AgentHome } from '../../testing/agent-home.ts'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import { contractHost } from '../../testing/contract-host.ts'
import { call, done } from '../../testing/model-answers.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import { claudeScenarios } from '../../testing/model-scenarios.ts'
import { claudeAcp, createAcpAdapter } from './index.ts'

const home = await AgentHome.forFile()

const adapter = () =>
  createAcpAdapter(claudeAcp, {
    env: home.env('claude'),
    agentsFolder: testAgentsFolder(),
  })
const usual = claudeScenarios(home.path)

const scenarios: Scenarios = {
  ...usual,
  crash: { ...usual.busy, kill: () => killChildren('claude-agent-acp') },
  unstartable: {
    adapter: () => createAcpAdapter(claudeAcp, { env: { PATH: '/nowhere', HOME: home.path } }),
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
  start: async () => ({ adapter, host: contractHost }),
})
