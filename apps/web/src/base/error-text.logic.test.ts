import { ParleyError } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { errorText, linkCommand } from './error-text.logic.ts'

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

  it('about a missing sign-in name the command that prints a link, and say that it may need the data folder', () => {
    const details = { link: 'npm start -- token --link' }
    const signedOut = new ParleyError('unauthorized', 'Send the token.', { details })
    expect(linkCommand(signedOut)).toBe('npm start -- token --link')
    expect(errorText(signedOut)).toMatch(/npm start -- token --link \(with the --data-dir/)
    const used = new ParleyError('unauthorized', 'Run: parley token --link', { details: { reason: 'link' } })
    expect([linkCommand(used), linkCommand(new Error('odd'))]).toEqual([undefined, undefined])
    expect(errorText(used)).toMatch(/^Run: parley token --link \(with the --data-dir/)
  })

  it('are those of the server if they are written for people', () => {
    const taken = new ParleyError('conflict', 'It was answered already: allowed.')
    expect(errorText(taken)).toBe('It was answered already: allowed.')
    expect(errorText(new Error('odd'))).toBe('odd')
    expect(errorText('words')).toBe('words')
  })
})
