import { join } from 'node:path'
import { killChildren, type Scenarios } from '@parley/adapter-kit/testing'
import { adapterContract } from '../../testing/adapter-contract.ts'
import { AgentHome } from '../../testing/agent-home.ts'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import { contractHost } from '../../testing/contract-host.ts'
import { call, done } from '../../testing/model-answers.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import { claudeScenarios } from '../../testing/model-scenarios.ts'
import { rejoinScenario, runAgent } from '../../testing/run-agent.ts'
import { createClaudeAdapter } from './index.ts'

const home = await AgentHome.forFile()

const environment = () => home.env('claude')
const adapter = () => createClaudeAdapter({ env: environment(), agentsFolder: testAgentsFolder() })
const usual = claudeScenarios(home.path)

const scenarios: Scenarios = {
  ...usual,
  crash: { ...usual.busy, kill: () => killChildren('claude-agent-sdk') },
  unstartable: {
    adapter: () => createClaudeAdapter({ env: { PATH: process.env.PATH, HOME: join(home.path, 'nobody') } }),
    code: 'agent_not_signed_in',
  },
  toolInputStreaming: {
    prompt: modelPrompt('Look.', call('Bash', { command: 'echo a rather long command' }), done),
  },
  editInput: {
    prompt: usual.permissions.prompt,
    input: { command: 'printf "edited\\n" > other.txt', description: 'a command' },
    effect: { path: 'other.txt', text: 'edited\n' },
  },
  plan: {
    prompt: modelPrompt('Plan it.', call('TaskCreate', { subject: 'First', description: 'this' }), done),
    session: { model: 'claude-sonnet-4-5' },
  },
  models: { model: 'claude-opus-4-5' },
  hostTools: {
    prompt: ({ name, input }) => modelPrompt('Use it.', call(`mcp__parley__${name}`, input), done),
  },
  rejoin: rejoinScenario((agentSessionId, folder, words) => {
    const [program = '', ...args] = adapter().terminalCommand?.(agentSessionId) ?? []
    return runAgent(program, [...args, '--print'], { cwd: folder, env: environment(), input: words })
  }),
  structuredOutput: {
    prompt: modelPrompt('Count.', call('StructuredOutput', { count: 2 }), done),
    schema: { type: 'object', properties: { count: { type: 'number' } }, required: ['count'] },
    value: { count: 2 },
  },
}

adapterContract('claude', {
  capabilities: createClaudeAdapter({ env: {} }).capabilities,
  scenarios,
  timeoutMs: 60_000,
  start: async () => ({ adapter, host: contractHost }),
})
