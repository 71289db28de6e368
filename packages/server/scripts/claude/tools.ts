import { z } from 'zod'
import type { ModelRequest } from '../../src/testing/model-server.ts'
import { oneTurn, script } from '../model-answers.ts'
import { pixel } from '../recorder.ts'
import { sdk } from './sdk.ts'
import { bash, calls, deny, isQueued, results, type Scenario, says, userWords } from './stage.ts'

const subagentPrompt = 'Count the stars in the file.'
const isSubagent = (request: ModelRequest) => userWords(request).includes(subagentPrompt)

function subagent(background: boolean): Scenario['play'] {
  return async ({ server, start }) => {
    const isOver = Promise.withResolvers<void>()
    server.script(isSubagent, [
      { response: calls('I look at it.', ['Read', { file_path: '/nowhere/stars.txt' }]) },
      {
        response: async () => {
          if (background) await isOver.promise
          return says('There are three stars.')
        },
      },
    ])
    script(
      server,
      calls('I ask a subagent.', [
        'Agent',
        {
          description: 'Count stars',
          prompt: subagentPrompt,
          subagent_type: 'general-purpose',
          run_in_background: background,
        },
      ]),
      says('The subagent is at work or done.'),
      says('The subagent found three stars.'),
    )
    await using run = start()
    await run.turn('Have the stars counted.')
    isOver.resolve()
    if (!background) return
    await run.until((all) => results(all) >= 2)
  }
}

/** Scenarios of tool calls, answers to their requests, subagents and plans. */
export const tools: Readonly<Record<string, Scenario>> = {
  'tool-allowed': oneTurn(
    'Run it.',
    calls('Let me run it.', bash('printf "one\\ntwo\\n"')),
    says('It printed two lines.'),
  ),

  'tool-denied': {
    options: { canUseTool: deny },
    ...oneTurn('Run it.', calls('Let me run it.', bash('touch forbidden.txt')), says('Then I leave it.')),
  },

  'tool-denied-by-rule': {
    options: { permissionMode: 'dontAsk' },
    ...oneTurn('Run it.', calls('', bash('touch forbidden.txt')), says('It was not allowed.')),
  },

  'parallel-tools': oneTurn(
    'Run both.',
    calls('Both at once.', bash('echo one > one.txt && echo one'), bash('echo two > two.txt && echo two')),
    says('Both ran.'),
  ),

  'tool-failed': oneTurn('Run it.', calls('', bash('echo out; echo wrong >&2; exit 3')), says('It failed.')),

  edit: {
    files: { 'poem.txt': 'roses are red\nviolets are blue\nsugar is sweet\n' },
    play: async ({ server, start, cwd }) => {
      const file_path = `${cwd}/poem.txt`
      script(
        server,
        calls('', ['Read', { file_path }]),
        calls('', ['Edit', { file_path, old_string: 'violets are blue', new_string: 'violets are violet' }]),
        calls('', ['Write', { file_path: `${cwd}/new.txt`, content: 'a new file\n' }]),
        calls('', ['Edit', { file_path, old_string: 'not in there', new_string: 'nor here' }]),
        says('The poem is better now.'),
      )
      await using run = start()
      await run.turn('Mend the poem.')
    },
  },

  'read-image': {
    files: { 'dot.png': Buffer.from(pixel, 'base64') },
    play: async ({ server, start, cwd }) => {
      script(server, calls('', ['Read', { file_path: `${cwd}/dot.png` }]), says('One dot.'))
      await using run = start()
      await run.turn('What is on the image?')
    },
  },

  question: {
    options: {
      canUseTool: async (_name, input) => ({
        behavior: 'allow',
        updatedInput: { ...input, answers: { 'Which colour?': 'Blue' } },
      }),
    },
    ...oneTurn(
      'Paint it.',
      calls('', [
        'AskUserQuestion',
        {
          questions: [
            {
              question: 'Which colour?',
              header: 'Colour',
              multiSelect: false,
              options: [
                { label: 'Red', description: 'like a rose' },
                { label: 'Blue', description: 'like a violet' },
              ],
            },
          ],
        },
      ]),
      says('Blue it is.'),
    ),
  },

  plan: {
    options: { permissionMode: 'plan' },
    ...oneTurn(
      'Plan it.',
      calls('', ['ExitPlanMode', { plan: '1. Look\n2. Leap' }]),
      says('The plan is accepted.'),
    ),
  },

  'plan-rejected': {
    options: { permissionMode: 'plan', canUseTool: deny },
    ...oneTurn('Plan it.', calls('', ['ExitPlanMode', { plan: '1. Leap' }]), says('I plan anew.')),
  },

  'task-tools': {
    options: { allowedTools: ['TaskCreate', 'TaskUpdate', 'TaskList'] },
    ...oneTurn(
      'Make a list.',
      calls('', ['TaskCreate', { subject: 'Look', description: 'around' }]),
      calls('', ['TaskCreate', { subject: 'Leap', description: 'far' }]),
      calls('', ['TaskUpdate', { taskId: '1', status: 'in_progress' }]),
      calls('', ['TaskUpdate', { taskId: '1', status: 'completed' }]),
      calls('', ['TaskList', {}]),
      says('One of two is done.'),
    ),
  },

  todos: {
    env: { CLAUDE_CODE_ENABLE_TODO_TOOLS: '1', CLAUDE_CODE_ENABLE_TASKS: '0' },
    ...oneTurn(
      'Make a list.',
      calls('', [
        'TodoWrite',
        {
          todos: [
            { content: 'Look', status: 'in_progress', activeForm: 'Looking' },
            { content: 'Leap', status: 'pending', activeForm: 'Leaping' },
          ],
        },
      ]),
      says('Noted.'),
    ),
  },

  'deny-and-stop': {
    options: { canUseTool: async () => ({ behavior: 'deny', message: 'Stop here.', interrupt: true }) },
    ...oneTurn('Run it.', calls('', bash('touch forbidden.txt')), says('Never said.')),
  },

  deferred: {
    async play({ server, start }) {
      script(server, calls('', bash('echo ran > ran.txt')), says('It ran after the restart.'))
      const defer = (permissionDecision: 'defer' | 'allow') => ({
        hooks: {
          PreToolUse: [
            {
              hooks: [
                async () => ({
                  hookSpecificOutput: { hookEventName: 'PreToolUse' as const, permissionDecision },
                }),
              ],
            },
          ],
        },
      })
      const first = start(defer('defer'))
      await first.turn('Run it.')
      await first[Symbol.asyncDispose]()
      await using second = start({ ...defer('allow'), resume: first.sessionId })
      await second.until((all) => all.some(({ type }) => type === 'result'))
    },
  },

  'mcp-tool': {
    options: {
      mcpServers: {
        host: sdk.createSdkMcpServer({
          name: 'host',
          version: '1.0.0',
          tools: [
            sdk.tool('add', 'Adds two numbers.', { a: z.number(), b: z.number() }, async ({ a, b }) => ({
              content: [{ type: 'text', text: `${a} and ${b} make ${a + b}` }],
            })),
            sdk.tool('fail', 'Fails.', {}, async () => ({
              isError: true,
              content: [{ type: 'text', text: 'It does not work.' }],
            })),
          ],
        }),
      },
    },
    ...oneTurn(
      'Add.',
      calls('', ['mcp__host__add', { a: 2, b: 3 }], ['mcp__host__fail', {}]),
      says('Five, and a failure.'),
    ),
  },

  subagent: { options: { forwardSubagentText: true }, play: subagent(false) },

  'subagent-quiet': { play: subagent(false) },

  'subagent-background': { options: { forwardSubagentText: true }, play: subagent(true) },

  'command-background': {
    async play({ server, start }) {
      script(
        server,
        calls('', ['Bash', { command: 'sleep 1; echo ready', description: 'wait', run_in_background: true }]),
        says('It runs in the background.'),
        says('The command is ready.'),
      )
      await using run = start()
      await run.turn('Start it.')
      await run.until((all) => results(all) >= 2)
    },
  },

  'prompt-during-background': {
    async play({ server, start }) {
      script(
        server,
        calls('', ['Bash', { command: 'sleep 1; echo ready', description: 'wait', run_in_background: true }]),
        says('It runs in the background.'),
        says('The command is ready.'),
        says('And this is the answer to you.'),
      )
      await using run = start()
      await run.turn('Start it.')
      const hold = server.hold(4)
      await hold.reached
      run.say('Are you there?')
      await run.until((all) => all.filter(isQueued).length === 2)
      hold.release()
      await run.until((all) => results(all) === 3)
    },
  },
}
