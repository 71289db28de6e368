import { ParleyError } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { folderProblem, missingProblem } from './folder-problem.logic.ts'

describe('the problem of a folder', () => {
  it("is the server's message, which names the folder", () => {
    const refused = new ParleyError('validation_error', 'The folder /no\u202ewhere does not exist.', {
      details: { cwd: '/no\u202ewhere' },
    })
    expect(folderProblem(refused)).toEqual({
      text: 'The folder /no\\u{202e}where does not exist.',
      refused: true,
    })
  })

  it('is undefined if something else was refused', () => {
    const others = [
      new ParleyError('validation_error', 'The prompt is too long.'),
      new ParleyError('agent_not_found', 'There is no such agent.', { details: { cwd: '/here' } }),
      new Error('The folder is not there.'),
    ]
    expect(others.map(folderProblem)).toEqual([undefined, undefined, undefined])
  })

  it('is reported for a typed folder, but not if the server gave no answer', () => {
    const missing = new ParleyError('not_found', 'The folder /nowhere/ does not exist.')
    expect(missingProblem(missing)).toEqual({ text: 'The folder /nowhere/ does not exist.' })
    expect(missingProblem(new ParleyError('internal_error', 'No reply.'))).toBeUndefined()
    expect(missingProblem(new Error('No reply.'))).toBeUndefined()
  })
})
