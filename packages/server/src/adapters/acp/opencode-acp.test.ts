import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { killChildren, type Scenarios } from '@parley/adapter-kit/testing'
import { adapterContract } from '../../testing/adapter-contract.ts'
import { AgentHome } from '../../testing/agent-home.ts'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import { contractHost } from '../../testing/contract-host.ts'
import { call, done } from '../../testing/model-answers.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import { modelScenarios, steeredScenarios, usageScenarios } from '../../testing/model-scenarios.ts'
import { opencodeProgram } from '../../testing/opencode-environment.ts'
import { createAcpAdapter, opencodeAcp } from './index.ts'
import { trusting } from './trusting-under-test.ts'

const home = await AgentHome.forFile()

/** The program that is installed for this agent or, to save space, for the agent `opencode`. */
const program = existsSync(join(testAgentsFolder(), opencodeAcp.id))
  ? { agentsFolder: testAgentsFolder() }
  : { executable: opencodeProgram() }
const adapter = () => trusting(createAcpAdapter(opencodeAcp, { env: home.env('opencode'), ...program }))
const command = (line: string) => call('bash', { command: line, description: 'a command' })
const words = { command, echo: 'echo_say' }
const usual = { ...modelScenarios(words), ...steeredScenarios(home.path, words) }

const scenarios: Scenarios = {
  ...usual,
  ...usageScenarios({ prompt_tokens: 120, completion_tokens: 30 }),
  crash: { ...usual.busy, kill: () => killChildren('opencode') },
  unstartable: {
    adapter: () => createAcpAdapter(opencodeAcp, { env: { PATH: '/nowhere', HOME: home.path } }),
    code: 'agent_not_found',
  },
  edit: {
    prompt: (folder) => {
      const filePath = join(folder, 'poem.txt')
      const edit = call('edit', { filePath, oldString: 'two', newString: '2' })
      return modelPrompt('Change it.', call('read', { filePath }), edit, done)
    },
  },
  toolOutputStreaming: {
    prompt: modelPrompt('Count.', command('for i in 1 2 3; do echo $i; sleep 0.3; done'), done),
  },
  models: { model: 'mock/m2' },
  commands: { prompt: modelPrompt('Hello.', { content: 'Hello.' }), command: 'init', says: 'Hello' },
}

adapterContract('opencode-acp', {
  capabilities: createAcpAdapter(opencodeAcp, { env: {} }).capabilities,
  scenarios,
  timeoutMs: 90_000,
  start: async () => ({ adapter, host: contractHost }),
})
