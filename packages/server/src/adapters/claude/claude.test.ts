import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { createMemoryStore } from '../../stores/memory.ts'
import { adapterContract, type Scenarios } from '../../testing/adapter-contract.ts'
import { claudeEnvironment } from '../../testing/claude-environment.ts'
import { answerByPrompt, modelPrompt } from '../../testing/model-by-prompt.ts'
import { type ModelAnswer, type ModelServer, startModelServer } from '../../testing/model-server.ts'
import { createClaudeAdapter } from './index.ts'

const home = mkdtempSync(join(tmpdir(), 'parley-claude-'))
let server: ModelServer
afterAll(async () => {
  await server?.stop()
  rmSync(home, { recursive: true, force: true })
})

const adapter = () => createClaudeAdapter({ env: claudeEnvironment({ url: server.url, home }) })
const call = (name: string, input: unknown, id = 'toolu_a'): ModelAnswer => ({
  toolCalls: [{ name, id, arguments: JSON.stringify(input) }],
})
const bash = (command: string) => call('Bash', { command, description: 'a command' })
const done: ModelAnswer = { content: 'That is done.' }
const usage = { input_tokens: 120, output_tokens: 30 }

const write = { content: 'once\n' }
const writing = modelPrompt('Write it.', bash('printf "once\\n" > note.txt'), done)

const scenarios: Scenarios = {
  text: { prompt: modelPrompt('Hello.', { content: 'Hello there, you.' }), says: 'Hello there' },
  busy: { prompt: modelPrompt('Wait.', bash('tail -f /dev/null'), done), session: { mode: 'bypass' } },
  toolCall: { prompt: modelPrompt('Look.', bash('echo hi'), done) },
  crash: {
    prompt: modelPrompt('Wait.', bash('tail -f /dev/null'), done),
    session: { mode: 'bypass' },
    kill: async () => killClaude(),
  },
  unrecognised: { notPossible: 'the real program sends nothing that is not known' },
  unstartable: {
    adapter: () => createClaudeAdapter({ env: { PATH: process.env.PATH, HOME: join(home, 'nobody') } }),
    code: 'agent_not_signed_in',
  },
  streaming: { prompt: modelPrompt('Hello.', { content: 'One, two, three, four, five.' }) },
  thinking: { prompt: modelPrompt('Think.', { reasoning: 'Let me think about it.', content: 'Yes.' }) },
  toolInputStreaming: { prompt: modelPrompt('Look.', bash('echo a rather long command'), done) },
  permissions: { prompt: writing, effect: { path: 'note.txt', text: write.content } },
  editInput: {
    prompt: writing,
    input: { command: 'printf "edited\\n" > other.txt', description: 'a command' },
    effect: { path: 'other.txt', text: 'edited\n' },
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
    prompt: modelPrompt('Plan it.', call('TaskCreate', { subject: 'First', description: 'this' }), done),
    session: { model: 'claude-sonnet-4-5' },
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
      { type: 'image', mimeType: 'image/png', data: onePixel() },
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
  models: { model: 'claude-opus-4-5' },
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
  hostTools: {
    prompt: ({ name, input }) => modelPrompt('Use it.', call(`mcp__parley__${name}`, input), done),
  },
  commands: { prompt: modelPrompt('Hello.', { content: 'Hello.' }), command: 'compact', says: 'Hello' },
  compaction: {},
  rewind: {
    prompt: modelPrompt('Write it.', call('Write', { file_path: 'note.txt', content: 'once' }), done),
    effect: { path: 'note.txt', text: 'once' },
  },
  usage: { prompt: modelPrompt('Hello.', { content: 'Hello.', usage }) },
  cost: { prompt: modelPrompt('Hello.', { content: 'Hello.', usage }) },
  structuredOutput: {
    prompt: modelPrompt('Count.', call('StructuredOutput', { count: 2 }), done),
    schema: { type: 'object', properties: { count: { type: 'number' } }, required: ['count'] },
    value: { count: 2 },
  },
}

/** Every Claude Code that this test has started. */
function killClaude(): void {
  const children = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(process.pid)], {
    encoding: 'utf8',
  })
  for (const line of children.split('\n').filter((text) => text.includes('claude-agent-sdk'))) {
    process.kill(Number.parseInt(line, 10), 'SIGKILL')
  }
}

function onePixel(): string {
  return 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
}

adapterContract('claude', {
  capabilities: createClaudeAdapter({ env: {} }).capabilities,
  scenarios,
  timeoutMs: 60_000,
  async start() {
    server = await startModelServer()
    answerByPrompt(server, /Parley was restarted/)
    return { adapter, store: createMemoryStore }
  },
})
