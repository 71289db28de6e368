import { promptMessage, readTurn, readUntil } from '@parley/adapter-kit/testing'
import { echoServer, type ToolCall } from '../model-answers.ts'
import { pixel } from '../recorder.ts'
import {
  calls,
  denying,
  interrupted,
  oneTurn,
  person,
  refusal,
  type Scenario,
  says,
  script,
  session,
  sessionOf,
  turn,
  turns,
} from './stage.ts'

const shell = (command: string): ToolCall => ['run_shell_command', { command, description: 'as asked' }]

export const gemini: Readonly<Record<string, Scenario>> = {
  'gemini-text': turns(
    ['Hello.', 'And again.'],
    [says('Hello, this is the model speaking.'), says('The second answer.')],
  ),
  'gemini-thinking': oneTurn([says('Four.', { reasoning: 'Two and two is four.' })]),
  'gemini-tool-allowed': oneTurn([calls(shell('echo hi > a.txt')), says('It is written.')]),
  'gemini-tool-denied': oneTurn([calls(shell('touch no.txt')), says('Then I leave it.')], {
    person: denying,
  }),
  'gemini-tool-failed': oneTurn([calls(['run_shell_command', {}]), says('It failed.')]),
  'gemini-parallel': {
    files: { 'poem.txt': 'roses are red\n' },
    ...turns(
      ['Do both.'],
      (cwd) => [
        calls(shell('touch no.txt'), ['read_file', { file_path: `${cwd}/poem.txt` }]),
        says('One of two.'),
      ],
      { person: denying },
    ),
  },
  'gemini-edit': {
    files: { 'poem.txt': 'roses are red\nviolets are blue\n' },
    ...turns(['Change it.'], (cwd) => {
      const file_path = `${cwd}/poem.txt`
      const change = { file_path, old_string: 'red', new_string: 'white', instruction: 'make it white' }
      return [
        calls(['replace', change]),
        calls(['write_file', { file_path: `${cwd}/new.txt`, content: 'new\n' }]),
        says('The poem is better now.'),
      ]
    }),
  },
  'gemini-cancelled': interrupted('Wait.', calls(shell('echo started; tail -f /dev/null'))),
  'gemini-plan': oneTurn(
    [
      calls(['write_file', { file_path: 'plan.md', content: '1. First\n' }]),
      calls(['exit_plan_mode', { plan_filename: 'plan.md' }]),
      says('The plan is accepted.'),
    ],
    { settings: { mode: 'plan' } },
  ),
  'gemini-mcp': {
    env: { GEMINI_CLI_TRUST_WORKSPACE: 'true' },
    ...oneTurn([calls(['mcp_echo_say', { words: 'parsley' }]), says('It said parsley.')], {
      mcpServers: { echo: echoServer },
    }),
  },
  'gemini-prompt-parts': {
    files: { 'poem.txt': 'roses are red\n' },
    ...turns(
      [
        [
          { type: 'text', text: 'Look at these.' },
          { type: 'image', mimeType: 'image/png', data: pixel },
          { type: 'file', name: 'poem.txt', path: 'poem.txt' },
          { type: 'file', name: 'a.txt', text: 'sage' },
        ],
      ],
      [says('A dot, and two files.')],
    ),
  },
  'gemini-command': turns([[{ type: 'command', name: 'help' }]], []),
  'gemini-configured': session(
    [says('Planning.'), says('Not planning.')],
    async (connection) => {
      await turn(connection, 'Hello.')
      const configured = connection.configure({ mode: 'bypass', model: 'gemini-2.5-flash' })
      await turn(connection, 'Hello.')
      await configured
    },
    { settings: { mode: 'plan', model: 'gemini-2.5-pro' } },
  ),
  'gemini-load': {
    async play({ server, connect }) {
      const touch = calls(shell('touch a.txt'))
      script(server, says('The first process speaks.'), touch, touch, says('It is touched.'))
      const first = await connect({ person: person({ permit: () => new Promise(() => undefined) }) })
      const agentSessionId = await sessionOf(first)
      await turn(first, 'The word is parsley.')
      await first.send(promptMessage('Touch it.'))
      await readUntil(first, ({ type }) => type === 'tool-call.called')
      await first.close()
      const second = await connect({ resume: { agentSessionId, turns: 1 } })
      await second.send(promptMessage('Touch it.', 'continue'))
      await readTurn(second)
      await second.close()
    },
  },
  'gemini-error-500': oneTurn([refusal(500, 'error', 'The service is down.')]),
  'gemini-error-429': oneTurn([refusal(429, 'error', 'Too many requests.')]),
  'gemini-stream-cut': turns(
    ['Hello.', 'Are you there?'],
    [
      {
        response: { content: 'This answer is cut off in the middle of things.' },
        truncateAfterChunks: 3,
        latency: 20,
      },
      says('Still here.'),
    ],
  ),
}
