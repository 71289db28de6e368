import { oneTurn, type Scenario, says } from './stage.ts'

const refusal = (message: string, type: string, status: number) => ({ error: { message, type }, status })

/** Scenarios of failures between OpenCode and the model. */
export const faults: Record<string, Scenario> = {
  'error-400': oneTurn('Hello.', refusal('That is no request.', 'invalid_request_error', 400)),
  'error-401': oneTurn('Hello.', refusal('Who are you?', 'authentication_error', 401)),
  'error-500': oneTurn('Hello.', refusal('Broken.', 'server_error', 500), says('The second attempt worked.')),
  'model-unknown': {
    async play({ run }) {
      await run.turn('Hello.', { model: { providerID: 'mock', modelID: 'nobody' } })
    },
  },
  'stream-broken': {
    async play({ server, run }) {
      let broken = false
      server.wire((event) => {
        if (broken || !JSON.stringify(event).includes('e end of')) return event
        broken = true
        return `data: ${JSON.stringify({ error: { message: 'Overloaded', type: 'server_error' } })}\n\n`
      })
      server.script(
        () => true,
        [
          { response: says('This does not come to the end of it.'), chunkSize: 8 },
          { response: says('The second attempt is whole.') },
        ],
      )
      await run.turn('Hello.')
    },
  },
}
