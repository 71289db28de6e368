import { anyone, bash, calls, oneTurn, type Scenario, says, script } from './stage.ts'

/** Failures and interruptions. */
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
      await run.until((all) => all.some(({ type }) => type === 'result'))
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
      await run.until((all) => all.some(({ type }) => type === 'result'))
    },
  },

  'interrupt-permission': {
    async play({ server, start }) {
      script(server, calls('', bash('touch forbidden.txt')), says('Still here.'))
      let asked = () => {}
      const isAsked = new Promise<void>((resolve) => {
        asked = resolve
      })
      await using run = start({
        canUseTool: (_name, _input, { signal }) => {
          asked()
          return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('gone'))))
        },
      })
      run.say('Run it.')
      await isAsked
      await run.query.interrupt()
      await run.until((all) => all.some(({ type }) => type === 'result'))
    },
  },

  'error-500': {
    async play({ server, start }) {
      const error = { error: { message: 'Something broke.', type: 'api_error' }, status: 500 }
      script(server, error, says('The second attempt worked.'), error, error)
      await using run = start()
      await run.turn('Try.')
      await run.turn('Try again.')
    },
  },

  'error-429': {
    async play({ server, start }) {
      const error = {
        error: { message: 'Too many requests.', type: 'rate_limit_error' },
        status: 429,
        retryAfter: 1,
      }
      script(server, error, says('Now it goes.'))
      await using run = start()
      await run.turn('Try.')
    },
  },

  'error-400': {
    async play({ server, start }) {
      const error = { error: { message: 'Bad request.', type: 'invalid_request_error' }, status: 400 }
      script(server, ...Array.from({ length: 8 }, () => error))
      await using run = start()
      await run.turn('Try.')
    },
  },

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
      const long = says('This answer is cut off before it ends, whatever happens.')
      server.script(anyone, [
        { response: long, latency: 50, truncateAfterChunks: 5 },
        { response: says('The second attempt is whole.') },
      ])
      await using run = start()
      await run.turn('Try.')
    },
  },

  'stream-cut-twice': {
    env: { CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK: '' },
    async play({ server, start }) {
      const long = says('This answer is cut off before it ends, whatever happens.')
      server.script(anyone, [
        { response: long, latency: 50, truncateAfterChunks: 5 },
        { response: long, latency: 50, truncateAfterChunks: 6 },
        { response: says('The attempt without a stream is whole.') },
      ])
      await using run = start()
      await run.turn('Try.')
    },
  },

  'max-turns': {
    options: { maxTurns: 1 },
    play: oneTurn('Go on and on.', calls('', bash('echo on')), says('Never said.')),
  },
}
