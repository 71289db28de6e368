import type { BranchInfo, PullRequest } from '@parley/protocol'
import { expect, it } from 'vitest'
import { branchText, mayMerge, mayPush, requestText } from './branch-text.logic.ts'

const info = (given: Partial<BranchInfo>): BranchInfo => ({
  branch: 'topic',
  commit: 'c'.repeat(40),
  trusted: true,
  remote: { name: 'origin' },
  ...given,
})
const at = (ahead: number, behind: number) =>
  info({ remote: { name: 'origin', branch: { commit: 'd'.repeat(40), ahead, behind } } })

it.each([
  [info({}), true, 'topic is not pushed to origin yet.'],
  [at(2, 0), true, '2 commits of topic are not pushed to origin.'],
  [at(0, 0), false, 'topic is pushed to origin.'],
  [at(1, 3), false, 'origin has 3 commits that topic does not have: merge or rebase before you push.'],
  [info({ trusted: false }), false, 'topic cannot be pushed, because this folder is not trusted.'],
  [info({ isBase: true }), false, 'topic is the base branch. Nothing is pushed to it.'],
  [{ trusted: true, commit: 'c' }, false, 'No branch is checked out, so nothing can be pushed.'],
])('%o may be pushed: %s, with the text %s', (given, may, text) => {
  expect([mayPush(given), branchText(given)]).toEqual([may, text])
})

it('offers a merge only while there is something to merge', () => {
  const into = (toMerge?: number) =>
    info({ base: { branch: 'origin/main', ahead: 2, behind: 0, ...(toMerge !== undefined && { toMerge }) } })
  expect([into(2), into(0), into(), info({})].map(mayMerge)).toEqual([true, false, true, false])
})

it('counts the checks of a pull request by their results', () => {
  const check = (result: PullRequest['checks'][number]['result']) => ({ name: result, result })
  const request = { state: 'open', draft: true, checks: [check('passed'), check('failed'), check('passed')] }
  expect(requestText(request as PullRequest)).toBe('Draft: 1 failed, 2 passed')
})
