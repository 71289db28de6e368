import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { createAcpAdapter } from '../../adapters/acp/index.ts'
import { createGates } from '../../adapters/scripted/gates.ts'
import { createScriptedAdapter } from '../../adapters/scripted/index.ts'
import { type Script, scriptInPrompt } from '../../adapters/scripted/script.ts'
import { memoryTranscript } from '../../adapters/scripted/transcript.ts'
import { startParley } from '../../cli/start.ts'
import type { AgentAdapter } from '../../core/agent-adapter.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { adapterContract, type Scenarios } from '../../testing/adapter-contract.ts'

/**
 * Parley drives Parley: a host with the ACP adapter, whose agent is the real program `parley acp`, which joins a server
 * with the scripted agent. What the scripted agent can do must come through both protocols.
 */
const json = (...steps: Script) => JSON.stringify(steps)
const scratch = mkdtempSync(join(tmpdir(), 'parley-by-parley-'))
const program = new URL('../../../bin/parley.js', import.meta.url).pathname
const token = 'inner-token'
const gates = createGates()

const remembering = (text: string, { history }: { history: readonly string[] }): Script =>
  text === 'what did I say?'
    ? [{ type: 'text', text: `You said: ${history.join('; ')}` }]
    : scriptInPrompt(text)

/** The words have a longer way here: the turn that waits for them goes on when they have arrived. */
function scripted(): AgentAdapter {
  const adapter = createScriptedAdapter({ gates, script: remembering, transcript: memoryTranscript() })
  return {
    ...adapter,
    async connect(input) {
      const connection = await adapter.connect(input)
      return {
        events: connection.events,
        interrupt: () => connection.interrupt(),
        configure: (settings) => connection.configure(settings),
        close: () => connection.close(),
        async send(message) {
          await connection.send(message)
          if (message.prompt.delivery === 'steer') gates.open('steered')
        },
      }
    },
  }
}

const parleyAcp = (executable = process.execPath) =>
  createAcpAdapter(
    {
      id: 'parley',
      name: 'Parley',
      command: executable,
      args: ['--conditions=source', program, 'acp', '--agent', 'scripted', '--data-dir', scratch],
      env: { PARLEY_TOKEN: token },
      capabilities: [
        'streaming',
        'thinking',
        'permissions',
        'questions',
        'plan',
        'planApproval',
        'subagents',
        'images',
        'files',
        'resume',
        'fork',
        'interrupt',
        'steer',
        'models',
        'effort',
        'modes',
        'commands',
        'compaction',
        'usage',
        'cost',
      ],
      modes: { ask: 'ask', 'accept-edits': 'ask', 'read-only': 'ask', plan: 'plan', bypass: 'ask' },
      options: ['effort'],
      dialect: {
        parentCall: ['parley', 'parentToolCallId'],
        kinds: { Task: 'subagent' },
        customAnswer: '_custom',
        steering: '_session/steering',
      },
    },
    { env: { PATH: process.env.PATH, HOME: scratch } },
  )

const writing = json(
  { type: 'text', text: 'I write a file.' },
  {
    type: 'permission',
    name: 'Write',
    kind: 'edit',
    title: 'note.txt',
    input: { path: 'note.txt', text: 'once\n' },
    effect: { writeFile: { path: 'note.txt', text: 'once\n' } },
  },
)
const usage = { context: { used: 10, window: 100 }, total: { input: 8, output: 2 }, costUsd: 0.1 }

const scenarios: Scenarios = {
  text: { prompt: 'hello there, you', says: 'hello there' },
  busy: { prompt: json({ type: 'text', text: 'and now I wait' }, { type: 'hang' }) },
  toolCall: { prompt: json({ type: 'tool', name: 'Read', kind: 'read', output: ['one', 'two'] }) },
  crash: { notPossible: 'a turn of a running server goes on when its editor is gone' },
  unrecognised: { notPossible: 'what the inner agent says that is not known stays in the inner log' },
  unstartable: { adapter: () => parleyAcp(join(scratch, 'nothing')), code: 'agent_not_found' },
  streaming: { prompt: 'one two three' },
  thinking: { prompt: json({ type: 'thinking', text: 'hm, let me see' }) },
  permissions: { prompt: writing, effect: { path: 'note.txt', text: 'once\n' } },
  questions: {
    prompt: json({
      type: 'question',
      questions: [
        {
          id: 'colour',
          header: 'Colour',
          text: 'Which?',
          options: [{ label: 'red' }, { label: 'blue' }],
          multiple: false,
          freeText: false,
        },
      ],
    }),
    answers: ([question]) => ({ [question?.id ?? '']: 'blue' }),
    says: 'blue',
  },
  plan: { prompt: json({ type: 'plan', entries: [{ text: 'first', status: 'pending' }] }) },
  planApproval: { prompt: json({ type: 'plan-approval', plan: 'first this, then that' }) },
  subagents: {
    prompt: json({
      type: 'subagent',
      title: 'look',
      steps: [
        { type: 'text', text: 'inside' },
        { type: 'tool', name: 'Read' },
      ],
    }),
  },
  images: {
    prompt: [
      { type: 'text', text: 'look' },
      { type: 'image', mimeType: 'image/png', data: 'AAAA' },
    ],
    says: 'I see the image',
  },
  files: { prompt: [{ type: 'file', name: 'a.txt', path: 'docs/a.txt' }], says: 'docs/a.txt' },
  resume: { first: 'the word is parsley', second: 'what did I say?', says: 'the word is parsley' },
  fork: { first: 'the word is sage', second: 'what did I say?', says: 'the word is sage' },
  interrupt: {},
  steer: {
    prompt: json({ type: 'text', text: 'on my way' }, { type: 'wait', gate: 'steered' }),
    words: 'to the left',
    says: 'to the left',
  },
  models: { model: 'scripted-small' },
  effort: { effort: 'high' },
  modes: { mode: 'accept-edits' },
  commands: { prompt: '/help', command: 'compact', says: '/help' },
  compaction: {},
  usage: { prompt: json({ type: 'usage', ...usage }) },
  cost: { prompt: json({ type: 'usage', ...usage }) },
}

adapterContract('parley behind parley', {
  capabilities: parleyAcp().capabilities,
  scenarios,
  timeoutMs: 60_000,
  async start() {
    const inner = await startParley({
      dataDir: scratch,
      hostname: '127.0.0.1',
      port: 0,
      token,
      logger: pino({ level: 'warn' }, pino.destination(2)),
      adapters: [scripted()],
      limits: { cancelGraceMs: 500, stopGraceMs: 500 },
    })
    return {
      adapter: () => parleyAcp(),
      store: createMemoryStore,
      async stop() {
        await inner.close()
        rmSync(scratch, { recursive: true, force: true, maxRetries: 5 })
      },
    }
  },
})
