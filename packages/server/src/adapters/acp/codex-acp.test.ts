import { killChildren, type Scenarios } from '@parley/adapter-kit/testing'
import { adapterContract } from '../../testing/adapter-contract.ts'
import { AgentHome } from '../../testing/agent-home.ts'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import { contractHost } from '../../testing/contract-host.ts'
import { call, done } from '../../testing/model-answers.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import {
  colourScenario,
  modelScenarios,
  steeredScenarios,
  usageScenarios,
} from '../../testing/model-scenarios.ts'
import { codexAcp, createAcpAdapter } from './index.ts'
import { trusting } from './trusting-under-test.ts'

const home = await AgentHome.forFile()
const agentsFolder = testAgentsFolder()

const adapter = () => trusting(createAcpAdapter(codexAcp, { env: home.env('codex'), agentsFolder }))
/** Codex asks only before a command that the model wants to run outside the sandbox. */
const command = (cmd: string) =>
  call('exec_command', { cmd, sandbox_permissions: 'require_escalated', justification: 'as asked' })
const patch = [
  "apply_patch <<'EOF'",
  ...['*** Begin Patch', '*** Update File: poem.txt', '@@', '-two', '+2', '*** End Patch'],
  'EOF\n',
].join('\n')
const words = { command, echo: 'mcp__echo/say' }
const usual = { ...modelScenarios(words), ...steeredScenarios(home.path, words) }

const scenarios: Scenarios = {
  ...usual,
  crash: { ...usual.busy, kill: () => killChildren('codex-acp') },
  unstartable: {
    adapter: () =>
      trusting(
        createAcpAdapter(codexAcp, {
          env: { PATH: process.env.PATH, HOME: home.folder('nobody') },
          agentsFolder,
        }),
      ),
    code: 'agent_not_signed_in',
  },
  edit: { prompt: () => modelPrompt('Change it.', call('exec_command', { cmd: patch }), done) },
  toolOutputStreaming: {
    prompt: modelPrompt('Count.', command('for i in 1 2 3; do echo $i; sleep 0.2; done'), done),
  },
  questions: colourScenario('request_user_input', { id: 'colour' }, { say: 'history' }, 'blue'),
  plan: {
    prompt: modelPrompt(
      'Plan it.',
      call('update_plan', { plan: [{ step: 'First', status: 'pending' }] }),
      done,
    ),
  },
  planApproval: {
    prompt: modelPrompt('Plan.', { content: '<proposed_plan>\nFirst this.\n</proposed_plan>' }, done),
    session: { mode: 'plan' },
  },
  models: { model: 'gpt-6-sol' },
  commands: { prompt: '/status', command: 'status', says: 'Model' },
  usage: usageScenarios({ input_tokens: 120, output_tokens: 30 }).usage,
}

adapterContract('codex-acp', {
  capabilities: createAcpAdapter(codexAcp, { env: {} }).capabilities,
  scenarios,
  timeoutMs: 60_000,
  start: async () => ({ adapter, host: contractHost }),
})
