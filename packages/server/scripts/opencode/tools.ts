import { join } from 'node:path'
import { echoServer, script } from '../model-answers.ts'
import { pixel } from '../recorder.ts'
import { bash, calls, mentions, oneTurn, type Scenario, says } from './stage.ts'

const png = Buffer.from(pixel, 'base64')

/** Scenarios of tool calls that ask, fail or change files, and of subagents. */
export const tools: Record<string, Scenario> = {
  'tool-allowed': oneTurn(
    'Run it.',
    calls('Let me run it.', bash('echo one; sleep 0.3; echo two')),
    says('It printed two lines.'),
  ),
  'tool-denied': {
    async play({ server, run }) {
      script(server, calls('Let me run it.', bash('touch here')), says('Then I leave it.'))
      run.reply = () => ({ reply: 'reject', message: 'Not today.' })
      await run.turn('Run it.')
    },
  },
  /** OpenCode applies a refusal to all requests that wait in the session. */
  'tool-denied-with-others': {
    async play({ server, run }) {
      script(server, calls('', bash('touch one'), bash('touch two')), says('Neither.'))
      let waiting = 0
      run.reply = () => (++waiting < 2 ? 'wait' : { reply: 'reject', message: 'Not that one.' })
      await run.turn('Run both.')
    },
  },
  'tool-failed': oneTurn('Fail.', calls('', bash('echo no; exit 3')), says('It failed.')),
  'tool-unknown': oneTurn(
    'Call it.',
    calls('', ['nosuch', {}], ['bash', { command: 3 }]),
    says('There is no such tool.'),
  ),
  'parallel-tools': oneTurn(
    'Both.',
    calls('Both at once.', bash('echo a'), bash('echo b')),
    says('Both ran.'),
  ),
  edit: {
    git: true,
    files: { 'poem.txt': 'roses are red\n', 'old.txt': 'old\n' },
    async play({ server, run, cwd }) {
      const path = (name: string) => join(cwd, name)
      script(
        server,
        calls('', ['read', { filePath: path('poem.txt') }], ['read', { filePath: path('old.txt') }]),
        calls(
          '',
          ['edit', { filePath: path('poem.txt'), oldString: 'red', newString: 'blue' }],
          ['write', { filePath: path('new.txt'), content: 'violets\n' }],
          ['write', { filePath: path('old.txt'), content: 'new\n' }],
        ),
        says('The poem is better now.'),
      )
      await run.turn('Make it better.')
    },
  },
  'read-image': {
    files: { 'dot.png': png },
    async play({ server, run, cwd }) {
      script(server, calls('', ['read', { filePath: join(cwd, 'dot.png') }]), says('One dot.'))
      await run.turn('What is on it?')
    },
  },
  'outside-the-folder': oneTurn(
    'Look there.',
    calls('', bash('cat /etc/hostname > /dev/null; echo seen')),
    says('Seen.'),
  ),
  question: {
    async play({ server, run }) {
      const options = ['red', 'blue'].map((label) => ({ label, description: `as ${label}` }))
      const ask = { questions: [{ question: 'Which colour?', header: 'Colour', options }] }
      script(server, calls('', ['question', ask]), says('Blue it is.'))
      const asked = run.until(({ type }) => type === 'question.asked')
      const over = run.over()
      await run.prompt('Ask me.')
      const requestID = String((await asked).properties.id)
      await run.client.question.reply({ requestID, answers: [['blue']] })
      await over
    },
  },
  todos: {
    async play({ server, run }) {
      const todos = (first: string) => ({
        todos: [
          { content: 'Look', status: first, priority: 'high' },
          { content: 'Leap', status: 'pending', priority: 'low' },
        ],
      })
      script(
        server,
        calls('', ['todowrite', todos('in_progress')]),
        calls('', ['todowrite', todos('completed')]),
        says('One of two is done.'),
      )
      await run.turn('Plan it.')
    },
  },
  subagent: {
    async play({ server, run }) {
      const inner = (request: Parameters<typeof mentions>[0]) => mentions(request, 'Count the stars')
      const outer = (request: Parameters<typeof mentions>[0]) => mentions(request, 'Ask somebody')
      server.script(
        (request) => inner(request) && !outer(request),
        [
          { response: calls('I look at it.', bash('echo three')) },
          { response: says('There are three stars.') },
        ],
      )
      const task = { description: 'count stars', subagent_type: 'general', prompt: 'Count the stars.' }
      script(server, calls('I ask a subagent.', ['task', task]), says('Three, it says.'))
      await run.turn('Ask somebody.')
    },
  },
  'mcp-tool': {
    config: {
      mcp: { echo: { type: 'local', command: [echoServer.command, ...echoServer.args] } },
    },
    ...oneTurn('Echo.', calls('', ['echo_say', { words: 'parsley' }]), says('It echoed.')),
  },
  'same-call-again': oneTurn(
    'Repeat it.',
    calls('', bash('true'), bash('true'), bash('true')),
    says('Three times the same.'),
  ),
}
