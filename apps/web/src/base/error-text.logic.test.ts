import { ParleyError } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { errorText } from './error-text.logic.ts'

const wire = /\b(GET|POST|HTTP|status|Bearer|Authorization|cwd|\/api\/)\b/

describe('error messages for people', () => {
  const problems = [
    new ParleyError('busy', 'No Parley server answers at http://x.', { details: { reason: 'unreachable' } }),
    new ParleyError('unauthorized', 'Send the token as Authorization: Bearer.'),
    new ParleyError('internal_error', 'GET /api/x was refused with status 500.', {
      details: { status: 500 },
    }),
    new ParleyError('validation_error', 'Give an existing folder as cwd.', { details: { cwd: '/none' } }),
  ]
  it.each(problems)('contain no protocol terms: $message', (problem) => {
    expect(errorText(problem)).not.toMatch(wire)
    expect(errorText(problem)).not.toBe(problem.message)
  })

  it('are the server’s own if those are written for people', () => {
    const taken = new ParleyError('conflict', 'It was answered already: allowed.')
    expect(errorText(taken)).toBe('It was answered already: allowed.')
    expect(errorText(new Error('odd'))).toBe('odd')
    expect(errorText('words')).toBe('words')
  })
})
