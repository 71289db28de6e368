import { join } from 'node:path'
import { killChildren, type Scenarios } from '@parley/adapter-kit/testing'
import { adapterContract } from '../../testing/adapter-contract.ts'
import { AgentHome } from '../../testing/agent-home.ts'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import { contractHost } from '../../testing/contract-host.ts'
import { call, done } from '../../testing/model-answers.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import { modelScenarios } from '../../testing/model-scenarios.ts'
import { createAcpAdapter, gemini } from './index.ts'

const home = await AgentHome.forFile()
const agentsFolder = testAgentsFolder()

/** Gemini starts MCP servers only in a trusted folder, so this variable marks every folder as trusted. */
const adapter = () =>
  createAcpAdapter(gemini, {
    env: home.env('gemini'),
    add: { GEMINI_CLI_TRUST_WORKSPACE: 'true' },
    agentsFolder,
  })
const command = (line: string) => call('run_shell_command', { command: line })
const usual = modelScenarios({ command, echo: 'mcp_echo_say', echoed: 'It said parsley.' })

const scenarios: Scenarios = {
  ...usual,
  crash: { ...usual.busy, kill: () => killChildren('gemini') },
  unstartable: {
    adapter: () =>
      createAcpAdapter(gemini, {
        env: { PATH: process.env.PATH, HOME: home.folder('nobody') },
        agentsFolder,
      }),
    code: 'agent_not_signed_in',
  },
  edit: {
    prompt: (folder) => {
      const file_path = join(folder, 'poem.txt')
      const edit = { file_path, old_string: 'two', new_string: '2', instruction: 'Use a digit.' }
      return modelPrompt('Change it.', call('replace', edit), done)
    },
  },
  planApproval: {
    prompt: modelPrompt(
      'Plan.',
      call('write_file', { file_path: 'plan.md', content: '1. First this.\n2. Then that.\n' }),
      call('exit_plan_mode', { plan_filename: 'plan.md' }),
      done,
    ),
    session: { mode: 'plan' },
  },
  models: { model: 'gemini-2.5-pro' },
  commands: { prompt: '/about', command: 'about', says: 'Gemini CLI Info' },
}

adapterContract('gemini', {
  capabilities: createAcpAdapter(gemini, { env: {} }).capabilities,
  scenarios,
  timeoutMs: 60_000,
  start: async () => ({ adapter, host: contractHost }),
})
