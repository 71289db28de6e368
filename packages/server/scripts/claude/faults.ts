import { oneTurn, script, turns } from '../model-answers.ts'
import { bash, calls, results, type Scenario, says } from './stage.ts'

const refusal = (status: number, type: string, message: string) => ({ error: { message, type }, status })
const broken = refusal(500, 'api_error', 'Something broke.')
const long = says('This answer is cut off before it ends, whatever happens.')

export const faults: Readonly<Record<string, Scenario>> = {
  'interrupt-text': {
    async play({ server, start }) {
      const hold = server.hold(6)
      script(server, says('This answer is going to be cut off in the middle of it.'), says('Still here.'))
      await using run = start()
      run.say('Speak at length.')
      await hold.reached
      await run.until((all) =>
        all.some((one) => one.type === 'stream_event' && one.event.type === 'content_block_delta'),
      )
      await run.query.interrupt()
      await run.until((all) => results(all) > 0)
      await run.turn('Are you there?')
    },
  },

  'interrupt-tool': {
    options: { allowedTools: ['Bash'] },
    async play({ server, start }) {
      script(server, calls('', bash('echo begun; sleep 30')), says('Still here.'))
      await using run = start()
      run.say('Run something long.')
      await run.until((all) => all.some(({ type }) => type === 'assistant'))
      await new Promise((resolve) => setTimeout(resolve, 1000))
      await run.query.interrupt()
      await run.until((all) => results(all) > 0)
    },
  },

  'interrupt-permission': {
    async play({ server, start }) {
      script(server, calls('', bash('touch forbidden.txt')), says('Still here.'))
      const asked = Promise.withResolvers<void>()
      await using run = start({
        canUseTool: (_name, _input, { signal }) => {
          asked.resolve()
          return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('gone'))))
        },
      })
      run.say('Run it.')
      await asked.promise
      await run.query.interrupt()
      await run.until((all) => results(all) > 0)
    },
  },

  'error-500': turns(['Try.', 'Try again.'], broken, says('The second attempt worked.'), broken, broken),

  'error-429': oneTurn(
    'Try.',
    { ...refusal(429, 'rate_limit_error', 'Too many requests.'), retryAfter: 1 },
    says('Now it goes.'),
  ),

  'error-400': oneTurn(
    'Try.',
    ...Array.from({ length: 8 }, () => refusal(400, 'invalid_request_error', 'Bad request.')),
  ),

  'error-in-stream': {
    async play({ server, start }) {
      let events = 0
      server.wire((event) =>
        ++events === 5
          ? 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
          : event,
      )
      script(server, says('This answer ends in an error.'), says('Another attempt.'))
      await using run = start()
      await run.turn('Try.')
    },
  },

  'stream-cut': {
    async play({ server, start }) {
      server.script(
        () => true,
        [
          { response: long, latency: 50, truncateAfterChunks: 5 },
          { response: says('The second attempt is whole.') },
        ],
      )
      await using run = start()
      await run.turn('Try.')
    },
  },

  'stream-cut-twice': {
    env: { CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK: '' },
    async play({ server, start }) {
      server.script(
        () => true,
        [
          { response: long, latency: 50, truncateAfterChunks: 5 },
          { response: long, latency: 50, truncateAfterChunks: 6 },
          { response: says('The attempt without a stream is whole.') },
        ],
      )
      await using run = start()
      await run.turn('Try.')
    },
  },

  'max-turns': {
    options: { maxTurns: 1 },
    ...oneTurn('Go on and on.', calls('', bash('echo on')), says('Never said.')),
  },
}
