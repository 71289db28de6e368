import { expect, it } from 'vitest'
import { bunSettings } from '../../server/src/testing/bun-settings.ts'
import { agentEnvironment } from './environment.ts'

it('an agent gets the variables that any program needs, settings of its runtime, and those of its vendor', () => {
  const needed = { PATH: '/bin', HOME: '/home/ada', LC_ALL: 'C' }
  const runtime = { NODE_COMPILE_CACHE: '/cache', ...bunSettings }
  const vendor = { ANTHROPIC_API_KEY: 'key' }
  const others = { PARLEY_TOKEN: 'token', NODE_OPTIONS: '--require=/x.js', BUN_OPTIONS: '--preload=/x.js' }
  const from = { ...needed, ...runtime, ...vendor, ...others, OPENAI_API_KEY: 'another key' }
  expect(agentEnvironment({ from, vendor: ['ANTHROPIC_'] })).toEqual({ ...needed, ...runtime, ...vendor })
})
