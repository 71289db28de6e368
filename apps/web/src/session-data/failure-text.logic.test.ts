import { describe, expect, it } from 'vitest'
import { failureText } from './failure-text.logic.ts'

describe('the failure of a session', () => {
  it.each([
    [{ outcome: 'failed', code: 'agent_not_signed_in' }, 'Not signed in'],
    [{ outcome: 'failed', code: 'agent_not_found' }, 'Agent not found'],
    [{ outcome: 'failed', code: 'agent_failed' }, 'Failed'],
    [{ outcome: 'failed' }, 'Failed'],
    [{ outcome: 'unknown' }, 'Interrupted'],
  ] as const)('%j is shown as %s', (failure, words) => {
    expect(failureText({ status: 'idle', failure })).toBe(words)
  })

  it('is not shown while the session works, nor if it never failed', () => {
    const failure = { outcome: 'failed' as const }
    expect(failureText({ status: 'working', failure })).toBeUndefined()
    expect(failureText({ status: 'idle' })).toBeUndefined()
  })
})
