import type { Attempt, Round } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import {
  attemptAtFirst,
  checkableAttempts,
  checkText,
  costText,
  lastLine,
  pickConsequences,
  stateText,
  tokensText,
} from './round.logic.ts'

const attempt = (number: number, rest: Partial<Attempt> = {}) =>
  ({
    attempt: number,
    state: 'done',
    requests: 0,
    worktree: { phase: 'ready', branch: 'b', path: '/w' },
    ...rest,
  }) as Attempt
const round = (attempts: Attempt[], rest: Partial<Round> = {}) =>
  ({ attempts, count: attempts.length, checkable: true, ...rest }) as Round

describe('an attempt', () => {
  it('is described in words', () => {
    expect(stateText(attempt(1, { state: 'waiting', requests: 2 })).text).toBe('Needs 2 answers')
    expect(checkText(undefined).text).toBe('not run')
    expect(checkText({ exitCode: 0 })).toEqual({ text: 'passed', tone: 'good' })
    expect(checkText({ exitCode: 0, outdated: true })).toEqual({
      text: 'passed, before the last change',
      tone: 'plain',
    })
    expect(checkText({ exitCode: 2 })).toEqual({ text: 'failed with exit code 2', tone: 'bad' })
    expect(checkText({ error: { code: 'busy', message: 'It took too long.' } }).text).toBe(
      'did not end: It took too long.',
    )
    expect(tokensText(undefined)).toBe('not reported')
    expect(tokensText({ input: 100, output: 2000, cacheRead: 900 })).toBe('1.0k in, 2.0k out')
    expect(costText({})).toBe('not reported')
    expect(costText({ costUsd: 0.5, notionalCost: true })).toBe('$0.50 at list price')
    expect(lastLine('One\n\n- **Two** in `a.ts` \n\n---\n')).toBe('Two in a.ts')
  })

  it('is shown first if it is picked, else if it has changes', () => {
    const changes = { files: 1, added: 1, removed: 0 }
    const both = [attempt(1), attempt(2, { changes })]
    expect(attemptAtFirst(round(both))).toBe(2)
    expect(attemptAtFirst(round(both, { picked: 1 }))).toBe(1)
    expect(attemptAtFirst(round([attempt(3)]))).toBe(3)
  })

  it('can be checked while no turn is open, if its worktree exists', () => {
    const removed = { phase: 'removed', branch: 'b', path: '/w' } as const
    const all = [
      attempt(1),
      attempt(2, { state: 'working' }),
      attempt(3, { worktree: removed }),
      attempt(4, { check: { running: true } }),
    ]
    expect(checkableAttempts(round(all)).map((one) => one.attempt)).toEqual([1])
    expect(checkableAttempts(round(all, { checkable: false }))).toEqual([])
  })
})

describe('a pick', () => {
  it('names what happens to the other attempts', () => {
    const gone = { phase: 'removed', branch: 'b', path: '/w' } as const
    const all = [attempt(1), attempt(2, { state: 'working' }), attempt(3, { worktree: gone })]
    expect(pickConsequences(round(all), 1)).toEqual([
      'Attempt 2 is still working, and will be stopped.',
      'The worktree of attempt 2 is removed. A worktree with files or commits that could not be restored is kept.',
      'The sessions and their changes stay, so you can pick another attempt later.',
    ])
    expect(pickConsequences(round(all, { picked: 1 }), 3)).toEqual([
      'The worktree of this attempt is restored.',
      'Attempt 2 is still working, and will be stopped.',
      'The worktrees of attempts 1 and 2 are removed. A worktree with files or commits that could not be restored is kept.',
      'The sessions and their changes stay, so you can pick another attempt later.',
      'Attempt 1 is no longer picked.',
    ])
  })
})
