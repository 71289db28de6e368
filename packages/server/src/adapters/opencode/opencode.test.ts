import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import type { AgentAdapter } from '../../core/agent-adapter.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { adapterContract, type Scenarios } from '../../testing/adapter-contract.ts'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import { answerByPrompt, modelPrompt } from '../../testing/model-by-prompt.ts'
import { type ModelAnswer, type ModelServer, startModelServer } from '../../testing/model-server.ts'
import { opencodeEnvironment } from '../../testing/opencode-environment.ts'
import { connectInput, readToEnd } from '../../testing/read-connection.ts'
import { createOpenCodeAdapter } from './index.ts'

const home = mkdtempSync(join(tmpdir(), 'parley-opencode-'))
const folders: string[] = [home]
let server: ModelServer
afterAll(async () => {
  await server?.stop()
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})

const agentsFolder = testAgentsFolder()
let shared: AgentAdapter
const call = (name: string, input: unknown, id = 'toolu_a'): ModelAnswer => ({
  toolCalls: [{ name, id, arguments: JSON.stringify(input) }],
})
const bash = (command: string) => call('bash', { command, description: 'a command' })
const done: ModelAnswer = { content: 'That is done.' }
const usage = { prompt_tokens: 120, completion_tokens: 30 }

const busy = modelPrompt('Wait.', bash('tail -f /dev/null'), done)
const writing = modelPrompt('Write it.', bash('printf "once\\n" > note.txt'), done)
const broken = 'This answer breaks off in its middle, and is made again.'

const scenarios: Scenarios = {
  text: { prompt: modelPrompt('Hello.', { content: 'Hello there, you.' }), says: 'Hello there' },
  busy: { prompt: busy, session: { mode: 'bypass' } },
  toolCall: { prompt: modelPrompt('Look.', bash('echo hi'), done) },
  crash: { prompt: busy, session: { mode: 'bypass' }, kill: async () => killOpenCode() },
  unrecognised: { notPossible: 'the real program sends nothing that is not known' },
  unstartable: {
    adapter: () => createOpenCodeAdapter({ env: { PATH: '/nowhere', HOME: home } }),
    code: 'agent_not_found',
  },
  streaming: { prompt: modelPrompt('Hello.', { content: 'One, two, three, four, five.' }) },
  thinking: { prompt: modelPrompt('Think.', { reasoning: 'Let me think about it.', content: 'Yes.' }) },
  toolOutputStreaming: { prompt: modelPrompt('Look.', bash('echo one; sleep 0.3; echo two'), done) },
  permissions: { prompt: writing, effect: { path: 'note.txt', text: 'once\n' } },
  questions: {
    prompt: modelPrompt(
      'Ask.',
      call('question', {
        questions: [
          {
            question: 'Which colour?',
            header: 'Colour',
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
  models: { model: 'mock/m2' },
  effort: { effort: 'high' },
  modes: { mode: 'accept-edits' },
  mcp: {
    prompt: modelPrompt('Echo.', call('echo_say', { words: 'parsley' }), { say: 'history' }),
    servers: {
      echo: {
        command: process.execPath,
        args: ['--conditions=source', new URL('../../testing/mcp-echo.ts', import.meta.url).pathname],
      },
    },
    says: 'The echo says parsley',
  },
  commands: { prompt: modelPrompt('Hello.', { content: 'Hello.' }), command: 'compact', says: 'Hello' },
  compaction: {},
  rewind: {
    prompt: modelPrompt('Write it.', call('write', { filePath: 'note.txt', content: 'once\n' }), done),
    effect: { path: 'note.txt', text: 'once\n' },
  },
  usage: { prompt: modelPrompt('Hello.', { content: 'Hello.', usage }) },
  cost: { prompt: modelPrompt('Hello.', { content: 'Hello.', usage }) },
  structuredOutput: {
    prompt: modelPrompt('Count.', call('StructuredOutput', { count: 2 }), done),
    schema: { type: 'object', properties: { count: { type: 'number' } }, required: ['count'] },
    value: { count: 2 },
  },
  retraction: { prompt: modelPrompt('Break.', { content: broken }) },
}

/**
 * A server goes with its last session. So that not every case waits for a start, one session stays for as long as the
 * suite runs: the others share its server, one after another.
 */
async function stay(): Promise<{ stop(): Promise<void> }> {
  let over = false
  let current = await shared.connect(connectInput({ cwd: home }))
  const staying = (async () => {
    while (!over) {
      await readToEnd(current)
      if (!over) current = await shared.connect(connectInput({ cwd: home }))
    }
  })()
  return {
    async stop() {
      over = true
      await current.close()
      await staying
    },
  }
}

/** The answer that is to break off does so the first time it is given. */
function breakOnce(): void {
  let whole = false
  server.wire((event, { body }) => {
    const text = (event.choices as [{ delta?: { content?: string } }] | undefined)?.[0]?.delta?.content ?? ''
    if (whole || !JSON.stringify(body).includes(broken) || broken.indexOf(text) < 20) return event
    whole = true
    return `data: ${JSON.stringify({ error: { message: 'Overloaded', type: 'server_error' } })}\n\n`
  })
}

/** Every server that this test has started. */
function killOpenCode(): void {
  const children = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(process.pid)], {
    encoding: 'utf8',
  })
  for (const line of children.split('\n').filter((text) => text.includes('opencode serve'))) {
    process.kill(Number.parseInt(line, 10), 'SIGKILL')
  }
}

function onePixel(): string {
  return 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
}

adapterContract('opencode', {
  capabilities: createOpenCodeAdapter({ env: {} }).capabilities,
  scenarios,
  timeoutMs: 60_000,
  async start() {
    server = await startModelServer()
    answerByPrompt(server, /Parley was restarted/)
    breakOnce()
    shared = createOpenCodeAdapter({ env: opencodeEnvironment({ url: server.url, home }), agentsFolder })
    const { stop } = await stay()
    // A git repository: elsewhere OpenCode keeps no states of files to go back to.
    const folder = async () => {
      const path = mkdtempSync(join(tmpdir(), 'parley-opencode-work-'))
      folders.push(path)
      execFileSync('git', ['init', '--quiet', path])
      return path
    }
    return { adapter: () => shared, store: createMemoryStore, folder, stop }
  },
})
