import type { ModelAnswer } from '../../src/testing/model-server.ts'
import { promptMessage, readTurn, readUntil } from '../../src/testing/read-connection.ts'
import { pixel } from '../recorder.ts'
import {
  calls,
  denying,
  echo,
  oneTurn,
  person,
  type Scenario,
  says,
  script,
  sessionOf,
  turn,
} from './stage.ts'

const shell = (command: string): [string, object] => [
  'run_shell_command',
  { command, description: 'as asked' },
]
const error = (status: number, message: string) =>
  ({ error: { message, type: 'error' }, status }) as ModelAnswer

export const gemini: Readonly<Record<string, Scenario>> = {
  'gemini-text': {
    async play({ server, connect }) {
      script(server, says('Hello, this is the model speaking.'), says('The second answer.'))
      const connection = await connect()
      await turn(connection, 'Hello.')
      await turn(connection, 'And again.')
      await connection.close()
    },
  },
  'gemini-thinking': oneTurn(() => [says('Four.', { reasoning: 'Two and two is four.' })]),
  'gemini-tool-allowed': oneTurn(() => [calls(shell('echo hi > a.txt')), says('It is written.')]),
  'gemini-tool-denied': oneTurn(() => [calls(shell('touch no.txt')), says('Then I leave it.')], {
    person: denying,
  }),
  'gemini-tool-failed': oneTurn(() => [calls(['run_shell_command', {}]), says('It failed.')]),
  'gemini-parallel': {
    files: { 'poem.txt': 'roses are red\n' },
    async play({ server, cwd, connect }) {
      script(
        server,
        calls(shell('touch no.txt'), ['read_file', { file_path: `${cwd}/poem.txt` }]),
        says('One of two.'),
      )
      const connection = await connect({ person: denying })
      await turn(connection, 'Do both.')
      await connection.close()
    },
  },
  'gemini-edit': {
    files: { 'poem.txt': 'roses are red\nviolets are blue\n' },
    async play({ server, cwd, connect }) {
      const file_path = `${cwd}/poem.txt`
      const change = { file_path, old_string: 'red', new_string: 'white', instruction: 'make it white' }
      script(
        server,
        calls(['replace', change]),
        calls(['write_file', { file_path: `${cwd}/new.txt`, content: 'new\n' }]),
        says('The poem is better now.'),
      )
      const connection = await connect()
      await turn(connection, 'Change it.')
      await connection.close()
    },
  },
  'gemini-cancelled': {
    async play({ server, connect }) {
      script(server, calls(shell('echo started; tail -f /dev/null')), says('Still here.'))
      const connection = await connect()
      await connection.send(promptMessage('Wait.'))
      await readUntil(connection, ({ type }) => type === 'tool-call.called')
      await connection.interrupt()
      await readTurn(connection)
      await turn(connection, 'Are you there?')
      await connection.close()
    },
  },
  'gemini-plan': oneTurn(
    () => [
      calls(['write_file', { file_path: 'plan.md', content: '1. First\n' }]),
      calls(['exit_plan_mode', { plan_filename: 'plan.md' }]),
      says('The plan is accepted.'),
    ],
    { settings: { mode: 'plan' } },
  ),
  'gemini-mcp': {
    env: { GEMINI_CLI_TRUST_WORKSPACE: 'true' },
    ...oneTurn(() => [calls(['mcp_echo_say', { words: 'parsley' }]), says('It said parsley.')], {
      mcpServers: echo(new URL('../../src/testing/mcp-echo.ts', import.meta.url).pathname),
    }),
  },
  'gemini-prompt-parts': {
    files: { 'poem.txt': 'roses are red\n' },
    async play({ server, connect }) {
      script(server, says('A dot, and two files.'))
      const connection = await connect()
      await turn(connection, [
        { type: 'text', text: 'Look at these.' },
        { type: 'image', mimeType: 'image/png', data: pixel },
        { type: 'file', name: 'poem.txt', path: 'poem.txt' },
        { type: 'file', name: 'a.txt', text: 'sage' },
      ])
      await connection.close()
    },
  },
  'gemini-command': {
    async play({ connect }) {
      const connection = await connect()
      await turn(connection, [{ type: 'command', name: 'help' }])
      await connection.close()
    },
  },
  'gemini-configured': {
    async play({ server, connect }) {
      script(server, says('Planning.'), says('Not planning.'))
      const connection = await connect({ settings: { mode: 'plan', model: 'gemini-2.5-pro' } })
      await turn(connection, 'Hello.')
      const configured = connection.configure({ mode: 'bypass', model: 'gemini-2.5-flash' })
      await turn(connection, 'Hello.')
      await configured
      await connection.close()
    },
  },
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
  'gemini-error-500': oneTurn(() => [error(500, 'The service is down.')]),
  'gemini-error-429': oneTurn(() => [error(429, 'Too many requests.')]),
  'gemini-stream-cut': {
    async play({ server, connect }) {
      const response = { content: 'This answer is cut off in the middle of things.' }
      script(server, { response, truncateAfterChunks: 3, latency: 20 }, says('Still here.'))
      const connection = await connect()
      await turn(connection, 'Hello.')
      await turn(connection, 'Are you there?')
      await connection.close()
    },
  },
}
