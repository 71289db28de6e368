import { echoServer, type ToolCall } from '../model-answers.ts'
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

const bash = (command: string): ToolCall => ['Bash', { command, description: 'as asked' }]
const answering = person({
  answer: async ({ questions }) => ({
    outcome: 'answered',
    requestId: 'req',
    answers: Object.fromEntries(questions.map(({ id }) => [id, 'blue'])),
  }),
})

const limited = refusal(429, 'rate_limit_error', 'Too many requests.')

export const claude: Readonly<Record<string, Scenario>> = {
  'claude-text': turns(
    ['Hello, you.', 'And again.'],
    [says('Hello, this is the model speaking.'), says('The second answer.')],
  ),
  'claude-thinking': oneTurn([says('Four.', { reasoning: 'Two and two is four.' })]),
  'claude-tool-allowed': oneTurn([calls(bash('printf "a\\nb\\n" | tee a.txt')), says('It is written.')]),
  'claude-tool-denied': oneTurn([calls(bash('touch no.txt')), says('Then I leave it.')], {
    person: denying,
  }),
  'claude-tool-failed': oneTurn([calls(bash('touch a.txt; echo oh no; exit 3')), says('It failed.')]),
  'claude-parallel': oneTurn([calls(bash('touch a.txt'), bash('touch b.txt')), says('Both ran.')]),
  'claude-edit': {
    files: { 'poem.txt': 'roses are red\nviolets are blue\n' },
    ...turns(['Change it.'], (cwd) => {
      const file_path = `${cwd}/poem.txt`
      return [
        calls(['Read', { file_path }]),
        calls(['Edit', { file_path, old_string: 'red', new_string: 'white' }]),
        calls(['Write', { file_path: `${cwd}/new.txt`, content: 'new\n' }]),
        says('The poem is better now.'),
      ]
    }),
  },
  'claude-question': oneTurn(
    [
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
  'claude-todos': oneTurn([
    calls(['TodoWrite', { todos: [{ content: 'One', status: 'in_progress', activeForm: 'Doing one' }] }]),
    says('Noted.'),
  ]),
  'claude-plan': oneTurn([calls(['ExitPlanMode', { plan: 'First this.' }]), says('The plan is accepted.')], {
    settings: { mode: 'plan' },
  }),
  'claude-subagent': oneTurn([
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
  'claude-cancelled': interrupted('Wait for it.', calls(bash('tail -f /dev/null'))),
  'claude-mcp': oneTurn([calls(['mcp__echo__say', { words: 'parsley' }]), says('It said parsley.')], {
    mcpServers: { echo: echoServer },
  }),
  'claude-compact': turns(
    ['Hello, you.', [{ type: 'command', name: 'compact' }], 'And now?'],
    [says('To be forgotten.'), says('<summary>All that was said.</summary>'), says('I remember.')],
  ),
  'claude-configured': session(
    [says('As you like.')],
    async (connection) => {
      const configured = connection.configure({ mode: 'ask', model: 'opus', options: { effort: 'low' } })
      await turn(connection, 'Hello, you.')
      await configured
    },
    { settings: { mode: 'plan', model: 'sonnet', options: { effort: 'high' } } },
  ),
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
  'claude-error-429': oneTurn([limited, limited]),
}
