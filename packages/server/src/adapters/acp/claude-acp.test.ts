import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { createMemoryStore } from '../../stores/memory.ts'
import { adapterContract, type Scenarios } from '../../testing/adapter-contract.ts'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import { claudeEnvironment } from '../../testing/claude-environment.ts'
import { answerByPrompt, modelPrompt } from '../../testing/model-by-prompt.ts'
import { type ModelAnswer, type ModelServer, startModelServer } from '../../testing/model-server.ts'
import { claudeAcp, createAcpAdapter } from './index.ts'
import { killChildren, onePixel } from './processes-under-test.ts'

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
const call = (name: string, input: unknown): ModelAnswer => ({
  toolCalls: [{ name, id: 'toolu_a', arguments: JSON.stringify(input) }],
})
const bash = (command: string) => call('Bash', { command, description: 'a command' })
const done: ModelAnswer = { content: 'That is done.' }
const usage = { input_tokens: 120, output_tokens: 30 }
const waiting = modelPrompt('Wait.', bash('tail -f /dev/null'), done)

const scenarios: Scenarios = {
  text: { prompt: modelPrompt('Hello.', { content: 'Hello there, you.' }), says: 'Hello there' },
  busy: { prompt: waiting, session: { mode: 'bypass' } },
  toolCall: { prompt: modelPrompt('Look.', bash('echo hi'), done) },
  crash: { prompt: waiting, session: { mode: 'bypass' }, kill: async () => killChildren('claude-agent-acp') },
  unrecognised: { notPossible: 'the real program sends nothing that is not known' },
  unstartable: {
    adapter: () => createAcpAdapter(claudeAcp, { env: { PATH: '/nowhere', HOME: home } }),
    code: 'agent_not_found',
  },
  streaming: { prompt: modelPrompt('Hello.', { content: 'One, two, three, four, five.' }) },
  thinking: { prompt: modelPrompt('Think.', { reasoning: 'Let me think about it.', content: 'Yes.' }) },
  permissions: {
    prompt: modelPrompt('Write it.', bash('printf "once\\n" > note.txt'), done),
    effect: { path: 'note.txt', text: 'once\n' },
  },
  questions: {
    prompt: modelPrompt(
      'Ask.',
      call('AskUserQuestion', {
        questions: [
          {
            question: 'Which colour?',
            header: 'Colour',
            multiSelect: false,
            options: [
              { label: 'red', description: 'warm' },
              { label: 'blue', description: 'cold' },
            ],
          },
        ],
      }),
      done,
    ),
    answers: ([question]) => ({ [question?.id ?? '']: 'blue' }),
    says: 'done',
  },
  plan: {
    prompt: modelPrompt(
      'Note.',
      call('TodoWrite', { todos: [{ content: 'One', status: 'pending', activeForm: 'Doing one' }] }),
      done,
    ),
  },
  planApproval: {
    prompt: modelPrompt('Plan.', call('ExitPlanMode', { plan: 'First this, then that.' }), done),
    session: { mode: 'plan' },
  },
  subagents: {
    prompt: modelPrompt(
      'Delegate.',
      call('Agent', {
        description: 'look',
        subagent_type: 'general-purpose',
        run_in_background: false,
        prompt: 'Say what you see: nothing.',
      }),
      done,
    ),
  },
  images: {
    prompt: [
      { type: 'text', text: modelPrompt('Look.', { content: 'A small picture.' }) },
      { type: 'image', mimeType: 'image/png', data: onePixel },
    ],
    says: 'picture',
  },
  files: {
    prompt: [
      { type: 'text', text: modelPrompt('Read.', { say: 'history' }) },
      { type: 'file', name: 'a.txt', text: 'parsley and sage' },
    ],
    says: 'parsley and sage',
  },
  resume: {
    first: modelPrompt('The word is parsley.', done),
    second: modelPrompt('What did I say?', { say: 'history' }),
    says: 'The word is parsley',
  },
  fork: {
    first: modelPrompt('The word is sage.', done),
    second: modelPrompt('What did I say?', { say: 'history' }),
    says: 'The word is sage',
  },
  interrupt: {},
  steer: {
    prompt: modelPrompt('Wait.', bash(`until [ -e ${home}/go ]; do sleep 0.05; done; sleep 0.5`), {
      say: 'history',
    }),
    session: { mode: 'bypass' },
    words: 'To the left.',
    says: 'To the left.',
    release: () => writeFileSync(join(home, 'go'), ''),
  },
  models: { model: 'sonnet' },
  effort: { effort: 'high' },
  modes: { mode: 'accept-edits' },
  mcp: {
    prompt: modelPrompt('Echo.', call('mcp__echo__say', { words: 'parsley' }), {
      content: 'It said parsley.',
    }),
    servers: {
      echo: {
        command: process.execPath,
        args: ['--conditions=source', new URL('../../testing/mcp-echo.ts', import.meta.url).pathname],
      },
    },
    says: 'It said parsley.',
  },
  commands: { prompt: modelPrompt('Hello.', { content: 'Hello.' }), command: 'compact', says: 'Hello' },
  compaction: {},
  usage: { prompt: modelPrompt('Hello.', { content: 'Hello.', usage }) },
  cost: { prompt: modelPrompt('Hello.', { content: 'Hello.', usage }) },
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
