import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { createMemoryStore } from '../../stores/memory.ts'
import { adapterContract, type Scenarios } from '../../testing/adapter-contract.ts'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import { geminiEnvironment } from '../../testing/gemini-environment.ts'
import { answerByPrompt, modelPrompt } from '../../testing/model-by-prompt.ts'
import { type ModelAnswer, type ModelServer, startModelServer } from '../../testing/model-server.ts'
import { createAcpAdapter, gemini } from './index.ts'
import { killChildren, onePixel } from './processes-under-test.ts'

const home = mkdtempSync(join(tmpdir(), 'parley-gemini-'))
const agentsFolder = testAgentsFolder()
let server: ModelServer
afterAll(async () => {
  await server?.stop()
  rmSync(home, { recursive: true, force: true, maxRetries: 5 })
})

/** Gemini starts MCP servers in a trusted folder only: here the person's own environment says so. */
const adapter = () =>
  createAcpAdapter(gemini, {
    env: geminiEnvironment({ url: server.url, home }),
    add: { GEMINI_CLI_TRUST_WORKSPACE: 'true' },
    agentsFolder,
  })
const call = (name: string, input: unknown): ModelAnswer =>
  ({ toolCalls: [{ name, arguments: JSON.stringify(input) }] }) as ModelAnswer
const shell = (command: string) => call('run_shell_command', { command })
const done: ModelAnswer = { content: 'That is done.' }
const waiting = modelPrompt('Wait.', shell('tail -f /dev/null'), done)

const scenarios: Scenarios = {
  text: { prompt: modelPrompt('Hello.', { content: 'Hello there, you.' }), says: 'Hello there' },
  busy: { prompt: waiting, session: { mode: 'bypass' } },
  toolCall: { prompt: modelPrompt('Look.', shell('echo hi'), done) },
  crash: { prompt: waiting, session: { mode: 'bypass' }, kill: async () => killChildren('gemini') },
  unrecognised: { notPossible: 'the real program sends nothing that is not known' },
  unstartable: {
    adapter: () =>
      createAcpAdapter(gemini, {
        env: { PATH: process.env.PATH, HOME: mkdtempSync(join(home, 'nobody-')) },
        agentsFolder,
      }),
    code: 'agent_not_signed_in',
  },
  streaming: { prompt: modelPrompt('Hello.', { content: 'One, two, three, four, five.' }) },
  thinking: { prompt: modelPrompt('Think.', { reasoning: 'Let me see.', content: 'Yes.' }) },
  permissions: {
    prompt: modelPrompt('Write it.', shell('printf "once\\n" > note.txt'), done),
    effect: { path: 'note.txt', text: 'once\n' },
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
  interrupt: {},
  models: { model: 'gemini-2.5-pro' },
  modes: { mode: 'accept-edits' },
  mcp: {
    prompt: modelPrompt('Echo.', call('mcp_echo_say', { words: 'parsley' }), { content: 'It said parsley.' }),
    servers: {
      echo: {
        command: process.execPath,
        args: ['--conditions=source', new URL('../../testing/mcp-echo.ts', import.meta.url).pathname],
      },
    },
    says: 'It said parsley.',
  },
  commands: { prompt: '/about', command: 'about', says: 'Gemini CLI Info' },
}

adapterContract('gemini', {
  capabilities: createAcpAdapter(gemini, { env: {} }).capabilities,
  scenarios,
  timeoutMs: 60_000,
  async start() {
    server = await startModelServer()
    answerByPrompt(server, /Parley was restarted/)
    return { adapter, store: createMemoryStore }
  },
})
