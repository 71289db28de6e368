import type { BranchInfo, PullRequest, PullRequestCheck } from '@parley/protocol'
import { plural, visible } from '../base/format.logic.ts'

/** The state of the branch and its remote, in one or two sentences. */
export function branchText({ branch, commit, isBase, remote, trusted, unfinished }: BranchInfo): string {
  if (commit === undefined) return 'There is no commit yet.'
  if (branch === undefined) return 'No branch is checked out, so nothing can be pushed.'
  const name = visible(branch)
  if (isBase) return `${name} is the base branch. Nothing is pushed to it.`
  if (!remote) return `${name} has no remote to which it could be pushed.`
  if (!trusted) return `${name} cannot be pushed, because this folder is not trusted.`
  if (unfinished !== undefined) return `${name} has an unfinished ${visible(unfinished)}.`
  const at = visible(remote.name)
  if (!remote.branch) return `${name} is not pushed to ${at} yet.`
  const { ahead, behind } = remote.branch
  if (ahead === 0 && behind === 0) return `${name} is pushed to ${at}.`
  if (behind === 0)
    return `${plural(ahead, 'commit')} of ${name} ${ahead === 1 ? 'is' : 'are'} not pushed to ${at}.`
  const missing = `${at} has ${plural(behind, 'commit')} that ${name} does not have`
  return ahead === 0 ? `${missing}.` : `${missing}: merge or rebase before you push.`
}

/** Whether the branch has a commit that can be pushed. */
export function mayPush({ branch, commit, isBase, remote, trusted, unfinished }: BranchInfo): boolean {
  if (branch === undefined || commit === undefined || isBase || !remote || !trusted) return false
  if (unfinished !== undefined) return false
  return !remote.branch || (remote.branch.ahead > 0 && remote.branch.behind === 0)
}

/** Whether the branch has commits that could be merged into the base branch. */
export function mayMerge({ branch, commit, isBase, base }: BranchInfo): boolean {
  return branch !== undefined && commit !== undefined && !isBase && base !== undefined && base.toMerge !== 0
}

const results: readonly PullRequestCheck['result'][] = ['failed', 'pending', 'passed', 'cancelled', 'skipped']

/** The state of a pull request and of its checks: `Open: 1 failed, 2 passed`. */
export function requestText({ state, draft, checks }: PullRequest): string {
  const names = { open: draft ? 'Draft' : 'Open', merged: 'Merged', closed: 'Closed' }
  const counts = results.flatMap((result) => {
    const count = checks.filter((check) => check.result === result).length
    return count > 0 ? [`${count} ${result}`] : []
  })
  return counts.length > 0 ? `${names[state]}: ${counts.join(', ')}` : names[state]
}
