import { join } from 'node:path'
import { killChildren, type Scenarios } from '@parley/adapter-kit/testing'
import { adapterContract } from '../../testing/adapter-contract.ts'
import { contractHost } from '../../testing/contract-host.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import {
  colourScenario,
  modelScenarios,
  steeredScenarios,
  usageScenarios,
} from '../../testing/model-scenarios.ts'
import { opencodeEnvironment, opencodeProgram } from '../../testing/opencode-environment.ts'
import { rejoinScenario, runAgent } from '../../testing/run-agent.ts'
import { createOpenCodeAdapter } from './index.ts'
import { bash, call, done, gitInit, OpenCodeUnderTest } from './opencode-under-test.ts'

const world = await OpenCodeUnderTest.forFile()

const words = { command: bash, echo: 'echo_say' }
const usual = { ...modelScenarios(words), ...steeredScenarios(world.home, words) }
const broken = 'This answer breaks off in its middle, and is made again.'

const scenarios: Scenarios = {
  ...usual,
  ...usageScenarios({ prompt_tokens: 120, completion_tokens: 30 }),
  crash: { ...usual.busy, kill: () => killChildren('opencode serve') },
  unstartable: {
    adapter: () => createOpenCodeAdapter({ env: { PATH: '/nowhere', HOME: world.home } }),
    code: 'agent_not_found',
  },
  edit: {
    prompt: (folder) => {
      const filePath = join(folder, 'poem.txt')
      const edit = call('edit', { filePath, oldString: 'two', newString: '2' })
      return modelPrompt('Change it.', call('read', { filePath }), edit, done)
    },
  },
  toolOutputStreaming: { prompt: modelPrompt('Look.', bash('echo one; sleep 0.3; echo two'), done) },
  questions: colourScenario('question', {}, { say: 'history' }, 'blue'),
  plan: {
    prompt: modelPrompt(
      'Plan.',
      call('todowrite', { todos: [{ content: 'First this', status: 'in_progress', priority: 'high' }] }),
      done,
    ),
  },
  subagents: {
    prompt: modelPrompt(
      'Delegate.',
      call('task', {
        description: 'look',
        subagent_type: 'general',
        prompt: 'Say what you see: nothing.',
      }),
      done,
    ),
  },
  models: { model: 'mock/m2' },
  commands: { prompt: modelPrompt('Hello.', { content: 'Hello.' }), command: 'compact', says: 'Hello' },
  rejoin: rejoinScenario((agentSessionId, folder, words) =>
    runAgent(opencodeProgram(), ['run', '--session', agentSessionId], {
      cwd: folder,
      env: opencodeEnvironment({ url: world.server.url, home: world.home }),
      input: words,
    }),
  ),
  structuredOutput: {
    prompt: modelPrompt('Count.', call('StructuredOutput', { count: 2 }), done),
    schema: { type: 'object', properties: { count: { type: 'number' } }, required: ['count'] },
    value: { count: 2 },
  },
  retraction: { prompt: modelPrompt('Break.', { content: broken }) },
}

/** Interrupts the first answer to the prompt with the text `broken`. Later answers are complete. */
function breakOnce(): void {
  let whole = false
  world.server.wire((event, { body }) => {
    const text = (event.choices as [{ delta?: { content?: string } }] | undefined)?.[0]?.delta?.content ?? ''
    if (whole || !JSON.stringify(body).includes(broken) || broken.indexOf(text) < 20) return event
    whole = true
    return `data: ${JSON.stringify({ error: { message: 'Overloaded', type: 'server_error' } })}\n\n`
  })
}

adapterContract('opencode', {
  capabilities: createOpenCodeAdapter({ env: {} }).capabilities,
  scenarios,
  timeoutMs: 180_000,
  async start() {
    breakOnce()
    const adapter = await world.stay()
    // A git repository, because OpenCode takes snapshots of its own only there.
    const folder = async () => {
      const path = world.sharedFolder()
      gitInit(path)
      return path
    }
    return { adapter: () => adapter, host: contractHost, folder, stop: () => world.leave() }
  },
})
