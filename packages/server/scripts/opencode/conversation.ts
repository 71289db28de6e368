import { script } from '../model-answers.ts'
import { pixel } from '../recorder.ts'
import { bash, calls, mentions, oneTurn, type Scenario, says, turns } from './stage.ts'

/** Scenarios of prompts and answers, compactions, steered prompts and interruptions. */
export const conversation: Record<string, Scenario> = {
  text: oneTurn('Hello.', says('Hello, this is the model speaking.')),
  'two-turns': turns(['First.', 'Second.'], says('The first answer.'), says('The second answer.')),
  thinking: oneTurn('Two and two?', says('So it is four.', { reasoning: 'Two and two make four.' })),
  'image-prompt': {
    async play({ server, run }) {
      script(server, says('A dot.'))
      const image = { type: 'file' as const, mime: 'image/png', url: `data:image/png;base64,${pixel}` }
      await run.turn('', { parts: [{ type: 'text', text: 'What is this?' }, image] })
    },
  },
  effort: {
    async play({ server, run }) {
      script(server, says('Thought hard.'))
      await run.turn('Think.', { variant: 'high', model: { providerID: 'mock', modelID: 'm2' } })
    },
  },
  plan: {
    async play({ server, run }) {
      script(server, says('This is the plan.'))
      await run.turn('Plan it.', { agent: 'plan' })
    },
  },
  'structured-output': {
    async play({ server, run }) {
      script(server, calls('', ['StructuredOutput', { count: 2 }]))
      const schema = { type: 'object', properties: { count: { type: 'number' } }, required: ['count'] }
      await run.turn('Count.', { format: { type: 'json_schema', schema } })
    },
  },
  title: {
    config: { agent: {} },
    async play({ server, run }) {
      server.script((request) => mentions(request, 'Generate a title'), [{ response: says('A fine title') }])
      script(server, says('Hello.'))
      const { data } = await run.client.session.create({}, { throwOnError: true })
      run.sessionID = data.id
      const renamed = run.until(({ properties }) => JSON.stringify(properties).includes('A fine title'))
      await run.turn('Hello.')
      await renamed
    },
  },
  command: {
    config: { command: { tell: { template: 'Tell me of $ARGUMENTS', description: 'Tells' } } },
    async play({ server, run }) {
      script(server, says('Of parsley.'))
      await run.other((client, sessionID) =>
        client.session.command({ sessionID, command: 'tell', arguments: 'parsley' }),
      )
    },
  },
  'command-subtask': {
    config: {
      command: { look: { template: 'Look around', description: 'Looks', agent: 'general', subtask: true } },
    },
    async play({ server, run }) {
      server.script(
        (request) => !mentions(request, 'task tool output'),
        [{ response: says('I saw a star.') }],
      )
      script(server, says('A star, it says.'))
      await run.other((client, sessionID) =>
        client.session.command({ sessionID, command: 'look', arguments: '' }),
      )
    },
  },
  compact: {
    async play({ server, run }) {
      script(
        server,
        says('The first answer, to be forgotten.'),
        says('A summary.'),
        says('I remember a summary.'),
      )
      await run.turn('First.')
      await run.other((client, sessionID) =>
        client.session.summarize({ sessionID, providerID: 'mock', modelID: 'm1' }),
      )
      await run.turn('What was it?')
    },
  },
  'compact-auto': {
    async play({ server, run }) {
      const full = { ...calls('', bash('true')), usage: { prompt_tokens: 99_000, completion_tokens: 50 } }
      script(server, full, says('A summary.'), says('I go on.'))
      await run.turn('Fill it up.')
    },
  },
  steering: {
    async play({ server, run }) {
      script(server, calls('', bash('sleep 1')), says('I heard you while I worked.'))
      const running = run.untilPart(({ state }) => (state as { metadata?: object })?.metadata !== undefined)
      const over = run.over()
      await run.prompt('Work.')
      await running
      await run.steer('To the left.')
      await over
    },
  },
  'interrupt-text': {
    async play({ server, run }) {
      server.script(
        () => true,
        [
          { response: says('This answer is going to be cut off.'), chunkSize: 4 },
          { response: says('Still here.') },
        ],
      )
      const hold = server.hold(5)
      const delta = run.until(({ type }) => type === 'message.part.delta')
      await run.prompt('Talk.')
      await hold.reached
      await delta
      await run.interrupt()
      hold.release()
      await run.turn('Are you there?')
    },
  },
  'interrupt-tool': {
    async play({ server, run }) {
      script(server, calls('', bash('sleep 100')))
      const running = run.untilPart(({ state }) => (state as { metadata?: object })?.metadata !== undefined)
      await run.prompt('Wait.')
      await running
      await run.interrupt()
    },
  },
  'interrupt-permission': {
    async play({ server, run }) {
      script(server, calls('', bash('sleep 100')))
      run.reply = () => 'wait'
      const asked = run.until(({ type }) => type === 'permission.asked')
      await run.prompt('Wait.')
      await asked
      await run.interrupt()
    },
  },
}
