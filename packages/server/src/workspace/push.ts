import { defined, ParleyError, type Pushed } from '@parley/protocol'
import type { Asked } from '../core/folder-changes.ts'
import { checkedOut, isBaseBranch, remoteRef } from './branch.ts'
import { type FolderGit, folderGit } from './folder-git.ts'
import type { GitIn } from './git.ts'
import { headOf } from './head.ts'
import { lastLines, outputOf, withoutProgress } from './output.ts'
import { type Remote, remoteOf } from './remote.ts'
import type { GitResult } from './run-git.ts'

/** The time limits of a push with its hooks: in total, and without output. */
const pushMs = 15 * 60_000
const quietMs = 5 * 60_000

/** Pushes the checked-out commit to the remote branch of the same name. Throws a ParleyError for a base branch. */
export async function push(
  gitIn: GitIn,
  folder: string,
  { command, base, trusts, signal, progress }: Asked<'branch.push'>,
): Promise<Pushed> {
  const { branch, commit, replaces } = command
  const git = await folderGit(gitIn, folder, trusts)
  await expectCheckedOut(git, branch, commit)
  if (await isBaseBranch(git.look, branch, base))
    throw new ParleyError(
      'conflict',
      `${branch} is a base branch, and Parley does not push to base branches. Create a branch for your changes.`,
      { details: { base: branch } },
    )
  const remote = await remoteOf(git, branch)
  if (!remote) throw new ParleyError('not_supported', 'This repository has no remote to push to.')
  const options = ['--porcelain', '--progress', '--no-follow-tags', '--recurse-submodules=no'] as const
  const lease = replaces === undefined ? [] : [`--force-with-lease=refs/heads/${branch}:${replaces}`]
  const args = ['push', ...options, ...lease, '--', remote.name, `${commit}:refs/heads/${branch}`] as const
  const made = await git.reach(args, {
    ...{ signal, timeoutMs: pushMs, quietMs },
    ...defined({ progress: lastLines(progress) }),
  })
  const flag = /^([ +*=!])\t[^\t]*:refs\/heads\/[^\t]*\t/m.exec(made.stdout)?.[1]
  if (made.code !== 0 || flag === undefined || flag === '!') throw refused(made, remote, branch)
  await follow(git, remote, branch)
  const output = outputOfPush(made)
  return {
    ...{ branch, remote: remote.name, commit },
    ...defined({ url: remote.url, replaced: flag === '+' ? replaces : undefined }),
    ...(output && { output }),
  }
}

export async function expectCheckedOut(git: FolderGit, branch: string, commit?: string): Promise<void> {
  const [now, head] = await Promise.all([checkedOut(git.look), headOf(git.look)])
  if (now === branch && (commit === undefined || head === commit)) return
  const message = `${branch} has changed, or is not checked out any more. Look at the branch again.`
  throw new ParleyError('conflict', message, { details: { ...defined({ branch: now, commit: head }) } })
}

/** Sets the pushed branch as the upstream of the local branch, if it has none. */
async function follow({ look, change }: FolderGit, remote: Remote, branch: string): Promise<void> {
  const known = await look(['config', '--get', `branch.${branch}.merge`])
  const ref = remoteRef(remote, branch)
  if (known.code !== 0) await change(['branch', `--set-upstream-to=${ref}`, branch]).catch(() => undefined)
}

const outputOfPush = ({ stderr }: GitResult) => outputOf({ stdout: '', stderr: withoutProgress(stderr) })

function refused(made: GitResult, { name }: Remote, branch: string): ParleyError {
  const output = outputOfPush(made)
  const [, summary = ''] = /^!\t[^\t]*\t(.*)$/m.exec(made.stdout) ?? []
  const details = { output, reason: summary.slice(0, 200) }
  if (/\((non-fast-forward|fetch first|stale info)\)/.test(summary)) {
    const message = `${branch} at ${name} has commits that you have not seen. Fetch them first, or replace the branch.`
    return new ParleyError('conflict', message, { details: { ...details, behind: true } })
  }
  const last = output.split('\n').at(-1) ?? ''
  const message = `${name} refused the branch: ${summary || last || 'no reason given'}`
  return new ParleyError('conflict', message, { details })
}
