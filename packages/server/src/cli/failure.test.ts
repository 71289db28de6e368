import { ParleyError } from '@parley/protocol'
import { expect, it } from 'vitest'
import { failureOf } from './failure.ts'

it.each([new ParleyError('unauthorized', '\u001b[2Jforged'), new Error('\u001b[2Jforged')])(
  'the line of a failure shows control characters instead of sending them to the terminal',
  (thrown) => {
    for (const verbose of [false, true]) {
      const { line } = failureOf(thrown, verbose)
      expect(line).toContain('␛[2Jforged')
      expect(line).not.toContain('\u001b')
    }
  },
)
