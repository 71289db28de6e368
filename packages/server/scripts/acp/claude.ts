import type { ModelAnswer } from '../../src/testing/model-server.ts'
import { promptMessage, readTurn, readUntil } from '../../src/testing/read-connection.ts'
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

const bash = (command: string): [string, object] => ['Bash', { command, description: 'as asked' }]
const answering = person({
  answer: async ({ questions }) => ({
    outcome: 'answered',
    requestId: 'req',
    answers: Object.fromEntries(questions.map(({ id }) => [id, 'blue'])),
  }),
})

export const claude: Readonly<Record<string, Scenario>> = {
  'claude-text': {
    async play({ server, connect }) {
      script(server, says('Hello, this is the model speaking.'), says('The second answer.'))
      const connection = await connect()
      await turn(connection, 'Hello, you.')
      await turn(connection, 'And again.')
      await connection.close()
    },
  },
  'claude-thinking': oneTurn(() => [says('Four.', { reasoning: 'Two and two is four.' })]),
  'claude-tool-allowed': oneTurn(() => [
    calls(bash('printf "a\\nb\\n" | tee a.txt')),
    says('It is written.'),
  ]),
  'claude-tool-denied': oneTurn(() => [calls(bash('touch no.txt')), says('Then I leave it.')], {
    person: denying,
  }),
  'claude-tool-failed': oneTurn(() => [calls(bash('touch a.txt; echo oh no; exit 3')), says('It failed.')]),
  'claude-parallel': oneTurn(() => [calls(bash('touch a.txt'), bash('touch b.txt')), says('Both ran.')]),
  'claude-edit': {
    files: { 'poem.txt': 'roses are red\nviolets are blue\n' },
    async play({ server, cwd, connect }) {
      const file_path = `${cwd}/poem.txt`
      script(
        server,
        calls(['Read', { file_path }]),
        calls(['Edit', { file_path, old_string: 'red', new_string: 'white' }]),
        calls(['Write', { file_path: `${cwd}/new.txt`, content: 'new\n' }]),
        says('The poem is better now.'),
      )
      const connection = await connect()
      await turn(connection, 'Change it.')
      await connection.close()
    },
  },
  'claude-question': oneTurn(
    () => [
      calls([
        'AskUserQuestion',
        {
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
        },
      ]),
      says('Blue it is.'),
    ],
    { person: answering },
  ),
  'claude-todos': oneTurn(() => [
    calls(['TodoWrite', { todos: [{ content: 'One', status: 'in_progress', activeForm: 'Doing one' }] }]),
    says('Noted.'),
  ]),
  'claude-plan': oneTurn(
    () => [calls(['ExitPlanMode', { plan: 'First this.' }]), says('The plan is accepted.')],
    {
      settings: { mode: 'plan' },
    },
  ),
  'claude-subagent': oneTurn(() => [
    calls([
      'Agent',
      {
        description: 'look',
        subagent_type: 'general-purpose',
        run_in_background: false,
        prompt: 'Look at it.',
      },
    ]),
    says('I see nothing.'),
    says('The subagent saw nothing.'),
  ]),
  'claude-cancelled': {
    async play({ server, connect }) {
      script(server, calls(bash('tail -f /dev/null')), says('Still here.'))
      const connection = await connect()
      await connection.send(promptMessage('Wait for it.'))
      await readUntil(connection, ({ type }) => type === 'tool-call.called')
      await connection.interrupt()
      await readTurn(connection)
      await turn(connection, 'Are you there?')
      await connection.close()
    },
  },
  'claude-mcp': oneTurn(() => [calls(['mcp__echo__say', { words: 'parsley' }]), says('It said parsley.')], {
    mcpServers: echo(new URL('../../src/testing/mcp-echo.ts', import.meta.url).pathname),
  }),
  'claude-compact': {
    async play({ server, connect }) {
      script(
        server,
        says('To be forgotten.'),
        says('<summary>All that was said.</summary>'),
        says('I remember.'),
      )
      const connection = await connect()
      await turn(connection, 'Hello, you.')
      await turn(connection, [{ type: 'command', name: 'compact' }])
      await turn(connection, 'And now?')
      await connection.close()
    },
  },
  'claude-configured': {
    async play({ server, connect }) {
      script(server, says('As you like.'))
      const connection = await connect({
        settings: { mode: 'plan', model: 'sonnet', options: { effort: 'high' } },
      })
      const configured = connection.configure({ mode: 'ask', model: 'opus', options: { effort: 'low' } })
      await turn(connection, 'Hello, you.')
      await configured
      await connection.close()
    },
  },
  'claude-load': {
    async play({ server, connect }) {
      script(server, says('The first process speaks.'), says('The second process speaks.'))
      const first = await connect()
      const agentSessionId = await sessionOf(first)
      await turn(first, 'The word is parsley.')
      await first.close()
      const second = await connect({ resume: { agentSessionId, turns: 1 } })
      await turn(second, 'What was the word?')
      await second.close()
    },
  },
  'claude-error-429': oneTurn(() => {
    const error = {
      error: { message: 'Too many requests.', type: 'rate_limit_error' },
      status: 429,
    } as ModelAnswer
    return [error, error]
  }),
}
