import { echoServer, oneTurn, script, turns } from '../model-answers.ts'
import { pixel } from '../recorder.ts'
import { calls, command, decide, patch, type Scenario, says } from './stage.ts'

const fails = (status: number) => ({
  error: { message: `the model says ${status}`, type: 'server_error', code: 'x' },
  status,
})
const question = {
  id: 'colour',
  header: 'Colour',
  question: 'Which colour?',
  options: [
    { label: 'red', description: 'warm' },
    { label: 'blue', description: 'cold' },
  ],
}

export const scenarios: Record<string, Scenario> = {
  // conversation
  text: oneTurn('Hello.', says('Hello, this is the model speaking.')),
  'two-turns': turns(['One.', 'Two.'], says('The first answer.'), says('The second answer.')),
  thinking: oneTurn('Think.', says('So it is four.', { reasoning: 'Two and two is four.' })),
  'structured-output': {
    settings: { options: { outputSchema: { type: 'object' } } },
    async play({ server, start }) {
      script(server, says('{"count":2}'))
      await using run = await start()
      await run.turn('Count.', {
        outputSchema: { type: 'object', properties: {}, additionalProperties: false },
      })
    },
  },
  'plan-mode': {
    settings: { mode: 'plan' },
    ...oneTurn('Plan.', says('<proposed_plan>\n- First this.\n- Then that.\n</proposed_plan>')),
  },
  'plan-tool': oneTurn(
    'Plan.',
    calls('', [
      'update_plan',
      {
        plan: [
          { step: 'One', status: 'completed' },
          { step: 'Two', status: 'in_progress' },
        ],
      },
    ]),
    says('One of two is done.'),
  ),
  compact: {
    async play({ server, start }) {
      script(server, says('To be forgotten.'), says('A summary.'), says('I remember a summary.'))
      await using run = await start()
      await run.turn('One.')
      await run.ending(() => run.call('thread/compact/start'))
      await run.turn('Two.')
    },
  },
  steering: {
    async play({ server, start, cwd }) {
      script(
        server,
        calls('', command(`until [ -e ${cwd}/go ]; do sleep 0.05; done; sleep 0.3`)),
        says('I heard you.'),
      )
      await using run = await start()
      await run.ending(async () => {
        await run.say('Wait.')
        await run.item('commandExecution')
        const input = [{ type: 'text', text: 'To the left.', text_elements: [] }]
        await run.call('turn/steer', { expectedTurnId: run.turnId, input })
        await run.call('fs/writeFile', { path: `${cwd}/go`, dataBase64: '' })
      })
    },
  },
  resume: {
    async play({ server, start }) {
      script(server, says('The first process speaks.'), says('The second process speaks.'))
      const first = await start()
      await first.turn('One.')
      await first[Symbol.asyncDispose]()
      await using second = await start({ input: { resume: { agentSessionId: first.threadId, turns: 1 } } })
      await second.turn('Two.')
    },
  },

  // tools
  'command-allowed': oneTurn(
    'Run.',
    calls('Let me run it.', command('echo one; echo two')),
    says('Two lines.'),
  ),
  'command-denied': {
    answer: decide('decline'),
    ...oneTurn('Run.', calls('Let me run it.', command('echo one')), says('Then I leave it.')),
  },
  'command-failed': oneTurn('Run.', calls('', command('echo bad >&2; exit 3')), says('It failed.')),
  'command-output': oneTurn(
    'Run.',
    calls('', command('for i in 1 2 3; do echo $i; sleep 0.2; done')),
    says('It counted.'),
  ),
  'command-background': {
    async play({ server, start }) {
      script(
        server,
        calls('', command('sleep 1; echo late', { yield_time_ms: 250 })),
        says('It runs.'),
        says('Still here.'),
      )
      await using run = await start()
      await run.turn('Run.')
      await run.until((messages) => messages.some(({ params }) => JSON.stringify(params).includes('late\\n')))
      await run.turn('And now?')
    },
  },
  'terminal-input': {
    async play({ server, start }) {
      const session = () => Number(/session ID (\d+)/.exec(JSON.stringify(server.calls.at(-1)?.body))?.[1])
      server.script(
        () => true,
        [
          { response: calls('', command('cat', { tty: true, yield_time_ms: 250 })) },
          {
            response: () =>
              calls('', [
                'write_stdin',
                { session_id: session(), chars: 'hello\n\u0004', yield_time_ms: 500 },
              ]),
          },
          { response: says('It said hello.') },
        ],
      )
      await using run = await start()
      await run.turn('Type.')
    },
  },
  'parallel-commands': oneTurn(
    'Both.',
    calls('Both at once.', command('echo a'), command('echo b')),
    says('Both ran.'),
  ),
  patch: {
    files: { 'poem.txt': 'roses are red\n', 'old.txt': 'old\n', 'here.txt': 'here\n' },
    ...oneTurn(
      'Edit.',
      calls(
        '',
        patch(
          '*** Add File: new.txt',
          '+new',
          '*** Update File: poem.txt',
          '@@',
          '-roses are red',
          '+violets are blue',
        ),
      ),
      calls(
        '',
        patch(
          '*** Delete File: old.txt',
          '*** Update File: here.txt',
          '*** Move to: there.txt',
          '@@',
          '-here',
          '+there',
        ),
      ),
      says('The poem is better now.'),
    ),
  },
  'patch-denied': {
    answer: decide('decline'),
    ...oneTurn('Edit.', calls('', patch('*** Add File: new.txt', '+new')), says('Then not.')),
  },
  'view-image': {
    files: { 'dot.png': Buffer.from(pixel, 'base64') },
    ...oneTurn('Look.', calls('', ['view_image', { path: 'dot.png' }]), says('One dot.')),
  },
  'mcp-tool': {
    input: { mcpServers: { echo: echoServer, broken: { command: 'no-such-program' } } },
    ...oneTurn(
      'Echo.',
      calls('', ['mcp__echo/say', { words: 'parsley' }], ['mcp__echo/say', { words: 7 }]),
      says('Parsley, and a failure.'),
    ),
  },
  'mcp-asks': {
    input: { mcpServers: { echo: echoServer } },
    answer: ({ params }) => {
      const isApproval = JSON.stringify(params).includes('codex_approval_kind')
      return { action: 'accept', content: isApproval ? {} : { colour: 'blue' }, _meta: null }
    },
    ...oneTurn('Ask.', calls('', ['mcp__echo/ask', {}]), says('Blue it is.')),
  },
  question: {
    answer: () => ({ answers: { colour: { answers: ['blue'] } } }),
    ...oneTurn('Ask.', calls('', ['request_user_input', { questions: [question] }]), says('Blue it is.')),
  },
  subagent: {
    async play({ server, start }) {
      server.script(
        ({ messages }) => !JSON.stringify(messages).includes('Delegate.'),
        [calls('I look.', command('echo three')), says('There are three stars.')].map((response) => ({
          response,
          chunkSize: 16,
        })),
      )
      script(
        server,
        calls('I ask another.', [
          'collaboration/spawn_agent',
          { task_name: 'stars', fork_turns: 'none', message: 'Count the stars.' },
        ]),
        calls('', ['collaboration/wait_agent', { timeout_ms: 10_000 }]),
        says('Three, it says.'),
      )
      await using run = await start()
      await run.turn('Delegate.')
    },
  },
  'subagent-first-kind': {
    setup: { secondSubagents: false },
    async play({ server, start }) {
      const agent = () => /\\"agent_id\\":\\"([^\\]+)\\"/.exec(JSON.stringify(server.calls.at(-1)?.body))?.[1]
      server.script(
        ({ messages }) => !JSON.stringify(messages).includes('Delegate.'),
        [{ response: says('There are three stars.'), chunkSize: 16 }],
      )
      server.script(
        () => true,
        [
          {
            response: calls('I ask another.', [
              'multi_agent_v1/spawn_agent',
              { message: 'Count the stars.' },
            ]),
          },
          {
            response: () =>
              calls('', ['multi_agent_v1/wait_agent', { targets: [agent()], timeout_ms: 10_000 }]),
          },
          { response: says('Three, it says.') },
        ],
      )
      await using run = await start()
      await run.turn('Delegate.')
    },
  },

  // stopping and failing
  'interrupt-text': {
    async play({ server, start }) {
      script(
        server,
        says('This answer is going to be rather long, and is never finished.'),
        says('Still here.'),
      )
      const hold = server.hold(6)
      await using run = await start()
      await run.ending(async () => {
        await run.say('Talk.')
        await hold.reached
        await run.until((messages) => messages.some(({ method }) => method === 'item/agentMessage/delta'))
        await run.interrupt()
      })
      await run.turn('And now?')
    },
  },
  'interrupt-command': {
    async play({ server, start }) {
      script(server, calls('', command('tail -f /dev/null')))
      await using run = await start()
      await run.ending(async () => {
        await run.say('Wait.')
        await run.until((messages) => messages.some(({ method }) => method === 'serverRequest/resolved'))
        await run.interrupt()
      })
    },
  },
  'interrupt-permission': {
    answer: () => undefined,
    async play({ server, start }) {
      script(server, calls('', command('echo one')))
      await using run = await start()
      await run.ending(async () => {
        await run.say('Run.')
        await run.until((messages) => messages.some(({ method }) => method.endsWith('requestApproval')))
        await run.interrupt()
      })
    },
  },
  'deny-and-stop': { answer: decide('cancel'), ...oneTurn('Run.', calls('', command('echo one'))) },
  'error-400': oneTurn('Hello.', fails(400)),
  'error-429': {
    setup: { retries: 1 },
    ...oneTurn('Hello.', ...Array.from({ length: 9 }, () => fails(429))),
  },
  'error-500': {
    setup: { retries: 1 },
    ...oneTurn('Hello.', fails(500), fails(500), says('The third attempt worked.')),
  },
  'stream-cut': {
    setup: { retries: 1 },
    async play({ server, start }) {
      server.wire((event, call) =>
        server.calls.indexOf(call) === 0 && /\.(done|completed)$/.test(event.type ?? '') ? '' : event,
      )
      script(server, says('The first attempt breaks off'), says('The second attempt is whole.'))
      await using run = await start()
      await run.turn('Hello.')
    },
  },
}
