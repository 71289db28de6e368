import { join } from 'node:path'
import { killChildren, type Scenarios } from '@parley/adapter-kit/testing'
import { adapterContract } from '../../testing/adapter-contract.ts'
import { AgentHome } from '../../testing/agent-home.ts'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import { contractHost } from '../../testing/contract-host.ts'
import { call, done } from '../../testing/model-answers.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import { colourScenario, modelScenarios, usageScenarios } from '../../testing/model-scenarios.ts'
import { createAcpAdapter, qwen } from './index.ts'
import { trusting } from './trusting-under-test.ts'

const home = await AgentHome.forFile()
const agentsFolder = testAgentsFolder()

/** Qwen Code starts MCP servers only in trusted folders. */
const adapter = () => trusting(createAcpAdapter(qwen, { env: home.env('qwen'), agentsFolder }))
const command = (line: string) =>
  call('run_shell_command', { command: line, description: 'as asked', is_background: false })
const usual = modelScenarios({ command, echo: 'mcp__echo__say' })

const scenarios: Scenarios = {
  ...usual,
  crash: { ...usual.busy, kill: () => killChildren('qwen') },
  unstartable: {
    adapter: () =>
      createAcpAdapter(qwen, {
        env: { PATH: process.env.PATH, HOME: home.folder('nobody') },
        agentsFolder,
      }),
    code: 'agent_not_signed_in',
  },
  edit: {
    prompt: (folder) => {
      const file_path = join(folder, 'poem.txt')
      const edit = call('edit', { file_path, old_string: 'two', new_string: '2' })
      return modelPrompt('Change it.', call('read_file', { file_path }), edit, done)
    },
  },
  questions: colourScenario('ask_user_question', { multiSelect: false }, { say: 'history' }, 'blue'),
  planApproval: {
    prompt: modelPrompt('Plan.', call('exit_plan_mode', { plan: 'First this, then that.' }), done),
    session: { mode: 'plan' },
  },
  subagents: {
    prompt: modelPrompt(
      'Delegate.',
      call('agent', {
        description: 'look',
        subagent_type: 'general-purpose',
        prompt: modelPrompt('Look.', command('echo seen'), { content: 'I see nothing.' }),
        run_in_background: false,
      }),
      done,
    ),
  },
  models: { model: 'gpt-4o-other(openai)' },
  commands: { prompt: '/status', command: 'status', says: 'Qwen' },
  usage: usageScenarios({ prompt_tokens: 120, completion_tokens: 30 }).usage,
}

adapterContract('qwen', {
  capabilities: createAcpAdapter(qwen, { env: {} }).capabilities,
  scenarios,
  timeoutMs: 90_000,
  start: async () => ({ adapter, host: contractHost }),
})
