import { killChildren, type Scenarios } from '@parley/adapter-kit/testing'
import { adapterContract } from '../../testing/adapter-contract.ts'
import { AgentHome } from '../../testing/agent-home.ts'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import { withNamespaces } from '../../testing/codex-environment.ts'
import { contractHost } from '../../testing/contract-host.ts'
import { call, done } from '../../testing/model-answers.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import {
  colourScenario,
  modelScenarios,
  steeredScenarios,
  usageScenarios,
} from '../../testing/model-scenarios.ts'
import type { ModelCall, WireEvent } from '../../testing/model-server.ts'
import { rejoinScenario, runAgent } from '../../testing/run-agent.ts'
import { codexProgram } from './codex-under-test.ts'
import { createCodexAdapter } from './index.ts'

const home = await AgentHome.forFile()
const agentsFolder = testAgentsFolder()

const environment = () => home.env('codex', { retries: 1 })
const adapter = () => createCodexAdapter({ env: environment(), agentsFolder })
const command = (cmd: string) => call('exec_command', { cmd })
const patch = [
  "apply_patch <<'EOF'",
  ...['*** Begin Patch', '*** Update File: poem.txt', '@@', '-two', '+2', '*** End Patch'],
  'EOF\n',
].join('\n')
const breaksOff = 'Break off.'
const words = { command, echo: 'mcp__echo/say' }
const usual = { ...modelScenarios(words), ...steeredScenarios(home.path, words) }

const scenarios: Scenarios = {
  ...usual,
  crash: { ...usual.busy, kill: () => killChildren('app-server') },
  unstartable: {
    adapter: () =>
      createCodexAdapter({ env: { PATH: process.env.PATH, HOME: home.folder('nobody') }, agentsFolder }),
    code: 'agent_not_signed_in',
  },
  edit: { prompt: () => modelPrompt('Change it.', command(patch), done) },
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
  subagents: {
    prompt: modelPrompt(
      'Delegate.',
      call('collaboration/spawn_agent', {
        task_name: 'look',
        fork_turns: 'none',
        message: 'Say what you see.',
      }),
      call('collaboration/wait_agent', { timeout_ms: 10_000 }),
      done,
    ),
  },
  models: { model: 'gpt-4o-other' },
  hostTools: {
    prompt: ({ name, input }) => modelPrompt('Use it.', call(`mcp__parley/${name}`, input), done),
  },
  commands: {
    prompt: [
      { type: 'command', name: 'skill-creator', arguments: modelPrompt('Hello.', { say: 'history' }) },
    ],
    command: 'skill-creator',
    says: '$skill-creator Hello.',
  },
  usage: usageScenarios({ input_tokens: 120, output_tokens: 30 }).usage,
  structuredOutput: {
    prompt: modelPrompt('Count.', { content: '{"count":2}' }),
    schema: {
      type: 'object',
      properties: { count: { type: 'number' } },
      required: ['count'],
      additionalProperties: false,
    },
    value: { count: 2 },
  },
  rejoin: rejoinScenario(
    (agentSessionId, folder, words) => {
      const args = ['exec', 'resume', '--skip-git-repo-check', agentSessionId, '-']
      return runAgent(codexProgram, args, { cwd: folder, env: environment(), input: words })
    },
    { locks: true },
  ),
  retraction: { prompt: modelPrompt(breaksOff, { content: 'One, two, three, four.' }) },
}

/** Cuts off the end of the first answer to a prompt that contains `breaksOff`. */
function wire(event: WireEvent, call: ModelCall): WireEvent | string {
  const isEnd = /\.(done|completed)$/.test(event.type ?? '')
  return isEnd && isFirstToBreakOff(call) ? '' : withNamespaces(event)
}

function isFirstToBreakOff(call: ModelCall): boolean {
  const breaks = ({ body }: ModelCall) => JSON.stringify(body?.input ?? '').includes(breaksOff)
  return home.model.calls.find(breaks) === call
}

adapterContract('codex', {
  capabilities: createCodexAdapter({ env: {} }).capabilities,
  scenarios,
  timeoutMs: 60_000,
  async start() {
    home.model.wire(wire)
    return { adapter, host: contractHost }
  },
})
