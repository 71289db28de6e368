import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { createMemoryStore } from '../../stores/memory.ts'
import { adapterContract, type Scenarios } from '../../testing/adapter-contract.ts'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import { codexEnvironment, withNamespaces } from '../../testing/codex-environment.ts'
import { answerByPrompt, modelPrompt } from '../../testing/model-by-prompt.ts'
import {
  type ModelAnswer,
  type ModelCall,
  type ModelServer,
  startModelServer,
  type WireEvent,
} from '../../testing/model-server.ts'
import { createCodexAdapter } from './index.ts'

const home = mkdtempSync(join(tmpdir(), 'parley-codex-'))
const nobody = mkdtempSync(join(tmpdir(), 'parley-codex-nobody-'))
const agentsFolder = testAgentsFolder()
let server: ModelServer
afterAll(async () => {
  await server?.stop()
  for (const folder of [home, nobody]) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})

const adapter = () =>
  createCodexAdapter({ env: codexEnvironment({ url: server.url, home, retries: 1 }), agentsFolder })
const call = (name: string, input: unknown, id = 'toolu_a'): ModelAnswer => ({
  toolCalls: [{ name, id, arguments: JSON.stringify(input) }],
})
const run = (cmd: string) => call('exec_command', { cmd })
const breaksOff = 'Break off.'
const done: ModelAnswer = { content: 'That is done.' }
const usage = { input_tokens: 120, output_tokens: 30 }
const waiting = {
  prompt: modelPrompt('Wait.', run('tail -f /dev/null'), done),
  session: { mode: 'bypass' as const },
}

const scenarios: Scenarios = {
  text: { prompt: modelPrompt('Hello.', { content: 'Hello there, you.' }), says: 'Hello there' },
  busy: waiting,
  toolCall: { prompt: modelPrompt('Look.', run('echo hi'), done) },
  crash: { ...waiting, kill: async () => killCodex() },
  unrecognised: { notPossible: 'the real program sends nothing that is not known' },
  unstartable: {
    adapter: () => createCodexAdapter({ env: { PATH: process.env.PATH, HOME: nobody }, agentsFolder }),
    code: 'agent_not_signed_in',
  },
  streaming: { prompt: modelPrompt('Hello.', { content: 'One, two, three, four, five.' }) },
  thinking: { prompt: modelPrompt('Think.', { reasoning: 'Let me think about it.', content: 'Yes.' }) },
  toolOutputStreaming: {
    prompt: modelPrompt('Count.', run('for i in 1 2 3; do echo $i; sleep 0.2; done'), done),
  },
  permissions: {
    prompt: modelPrompt('Write it.', run('printf "once\\n" > note.txt'), done),
    effect: { path: 'note.txt', text: 'once\n' },
  },
  questions: {
    prompt: modelPrompt(
      'Ask.',
      call('request_user_input', {
        questions: [
          {
            id: 'colour',
            header: 'Colour',
            question: 'Which colour?',
            options: [
              { label: 'red', description: 'warm' },
              { label: 'blue', description: 'cold' },
            ],
          },
        ],
      }),
      { say: 'history' },
    ),
    answers: ([question]) => ({ [question?.id ?? '']: 'blue' }),
    says: 'blue',
  },
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
    prompt: modelPrompt('Wait.', run(`until [ -e ${home}/go ]; do sleep 0.05; done; sleep 0.5`), {
      say: 'history',
    }),
    session: { mode: 'bypass' },
    words: 'To the left.',
    says: 'To the left.',
    release: () => writeFileSync(join(home, 'go'), ''),
  },
  models: { model: 'gpt-4o-other' },
  effort: { effort: 'high' },
  modes: { mode: 'accept-edits' },
  mcp: {
    prompt: modelPrompt('Echo.', call('mcp__echo/say', { words: 'parsley' }), { say: 'history' }),
    servers: {
      echo: {
        command: process.execPath,
        args: ['--conditions=source', new URL('../../testing/mcp-echo.ts', import.meta.url).pathname],
      },
    },
    says: 'The echo says parsley',
  },
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
  compaction: {},
  usage: { prompt: modelPrompt('Hello.', { content: 'Hello.', usage }) },
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
  retraction: { prompt: modelPrompt(breaksOff, { content: 'One, two, three, four.' }) },
}

/** The first answer to these words breaks off before it is whole. */
function wire(event: WireEvent, call: ModelCall): WireEvent | string {
  const isEnd = /\.(done|completed)$/.test(event.type ?? '')
  return isEnd && isFirstToBreakOff(call) ? '' : withNamespaces(event)
}

function isFirstToBreakOff(call: ModelCall): boolean {
  const breaks = ({ body }: ModelCall) => JSON.stringify(body?.input ?? '').includes(breaksOff)
  return server.calls.find(breaks) === call
}

/** Every Codex that this test has started. */
function killCodex(): void {
  const children = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(process.pid)], {
    encoding: 'utf8',
  })
  for (const line of children.split('\n').filter((text) => text.includes('app-server'))) {
    process.kill(Number.parseInt(line, 10), 'SIGKILL')
  }
}

function onePixel(): string {
  return 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
}

adapterContract('codex', {
  capabilities: createCodexAdapter({ env: {} }).capabilities,
  scenarios,
  timeoutMs: 60_000,
  async start() {
    server = await startModelServer()
    server.wire(wire)
    answerByPrompt(server, /Parley was restarted/)
    return { adapter, store: createMemoryStore }
  },
})
