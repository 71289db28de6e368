import type { ModelAnswer } from '../../src/testing/model-server.ts'
import { oneTurn, script, turns } from '../model-answers.ts'
import { pixel } from '../recorder.ts'
import { bash, calls, isQueued, results, type Scenario, says } from './stage.ts'

/** Scenarios of prompts and answers, and of the configuration of a session. */
export const conversation: Readonly<Record<string, Scenario>> = {
  text: oneTurn('Say hello.', says('Hello, this is the model speaking.')),

  'two-turns': turns(['One.', 'Two.'], says('The first answer.'), says('The second answer.')),

  thinking: {
    options: { thinking: { type: 'enabled', budgetTokens: 2000 } },
    ...oneTurn('Think.', says('So it is four.', { reasoning: 'Two and two make four.' })),
  },

  'no-partials': {
    options: { includePartialMessages: false, thinking: { type: 'enabled', budgetTokens: 2000 } },
    ...oneTurn(
      'Think and run.',
      { ...calls('Let me see.', bash('echo one')), reasoning: 'I had better look.' } as ModelAnswer,
      says('It is one.'),
    ),
  },

  'image-prompt': {
    play: async ({ server, start }) => {
      script(server, says('A dot.'))
      await using run = start()
      await run.turn([
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } },
        { type: 'text', text: 'What is this?' },
      ])
    },
  },

  'mode-changed': {
    async play({ server, start }) {
      script(server, says('Asking.'), says('Not asking.'))
      await using run = start()
      await run.turn('One.')
      await run.query.setPermissionMode('acceptEdits')
      await run.turn('Two.')
    },
  },

  steering: {
    async play({ server, start }) {
      script(server, calls('', bash('touch done.txt')), says('I heard you while I worked.'))
      const asked = Promise.withResolvers<void>()
      const allowed = Promise.withResolvers<void>()
      await using run = start({
        async canUseTool(_name, updatedInput) {
          asked.resolve()
          await allowed.promise
          return { behavior: 'allow', updatedInput }
        },
      })
      run.say('Do it.')
      await asked.promise
      run.say('And be quick.')
      await run.until((all) => all.filter(isQueued).length === 2)
      allowed.resolve()
      await run.until((all) => results(all) > 0)
    },
  },

  compact: turns(
    ['Tell me something.', '/compact', 'And now?'],
    says('The first answer, to be forgotten.'),
    says('<summary>They spoke of nothing much.</summary>'),
    says('I remember a summary.'),
  ),

  clear: turns(['One.', '/clear', 'Two.'], says('Before.'), says('After.')),

  'command-output': oneTurn('/cost'),

  'structured-output': {
    options: {
      outputFormat: {
        type: 'json_schema',
        schema: { type: 'object', properties: { answer: { type: 'number' } }, required: ['answer'] },
      },
    },
    ...oneTurn('What is it?', calls('', ['StructuredOutput', { answer: 42 }]), says('It is 42.')),
  },

  resume: {
    async play({ server, start }) {
      script(server, says('The first process speaks.'), says('The second process speaks.'))
      const first = start()
      await first.turn('One.')
      await first[Symbol.asyncDispose]()
      await using second = start({ resume: first.sessionId })
      await second.turn('Two.')
    },
  },

  'resume-unknown': {
    async play({ start }) {
      await using run = start({ resume: '11111111-2222-4333-8444-555555555555' })
      run.say('Two.')
      await run.ended()
    },
  },

  hook: {
    options: {
      includeHookEvents: true,
      hooks: {
        UserPromptSubmit: [{ hooks: [async () => ({ systemMessage: 'The hook has a word for you.' })] }],
      },
      settings: {
        hooks: {
          UserPromptSubmit: [{ hooks: [{ type: 'command', command: 'echo a command has run' }] }],
          PreToolUse: [{ hooks: [{ type: 'command', command: 'echo no >&2; exit 1' }] }],
        },
      },
    },
    ...oneTurn('Say hello.', calls('', bash('echo hello')), says('Hello.')),
  },
}
