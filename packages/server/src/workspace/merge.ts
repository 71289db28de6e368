import { defined, type Merged, type MergePreview, ParleyError } from '@parley/protocol'
import type { Asked, Looked } from '../core/folder-changes.ts'
import { expectIdentity } from './commit.ts'
import { type FolderGit, folderGit } from './folder-git.ts'
import type { GitIn } from './git.ts'
import { unwriteMerged, writeMerged } from './merge-files.ts'
import { examineMerge, type MergePlan, treeOf } from './merge-plan.ts'
import { commitWithMark, markOf } from './reflog-mark.ts'
import { ownRepository } from './worktree-repository.ts'

/** The effect of a merge of the checked-out branch into the base branch. */
export async function previewMerge(gitIn: GitIn, folder: string, looked: Looked): Promise<MergePreview> {
  return (await examineMerge(gitIn, folder, looked)).preview
}

type AskedMerge = Asked<'branch.merge'>

/**
 * Merges the checked-out branch into the base branch, on this machine. The reflog of the base branch contains a mark
 * of the command, so a command that is repeated after a crash finds its merge.
 */
export async function merge(gitIn: GitIn, folder: string, asked: AskedMerge): Promise<Merged> {
  const { command, trusts, signal } = asked
  const git = await folderGit(gitIn, folder, trusts)
  await ownRepository(folder)
  const mark = markOf('merge', asked)
  const earlier = await commitWithMark(git.look, `refs/heads/${command.into}`, mark)
  if (earlier !== undefined) return described(git, command, earlier)
  const examined = await examineMerge(gitIn, folder, asked)
  if (!('plan' in examined)) throw examined.error
  const { plan } = examined
  expectSeen(plan, command)
  const to = await commitFor(plan, command)
  if (signal.aborted) throw new ParleyError('cancelled', 'The merge was cancelled. Nothing was merged.')
  await moveBranch(plan, to, `${mark}: ${plan.branch}`)
  return described(git, command, to)
}

/** Throws ParleyError `conflict` if a branch or the folder has changed since the preview that the command names. */
function expectSeen({ checkout, ...plan }: MergePlan, command: AskedMerge['command']): void {
  const fields = ['branch', 'commit', 'into', 'onto'] as const
  const isSame = fields.every((field) => plan[field] === command[field])
  if (isSame && checkout?.workTree === command.folder) return
  const message =
    'A branch has changed since you looked at the merge, so nothing was merged. Look at it again.'
  const { branch, commit, into, onto } = plan
  const now = { branch, commit, into, onto, ...defined({ folder: checkout?.workTree }) }
  throw new ParleyError('conflict', message, { details: now })
}

/** The commit to which the base branch is moved. A new commit is made unless the merge is a fast-forward. */
async function commitFor(plan: MergePlan, { way, message }: AskedMerge['command']): Promise<string> {
  const { git, commit, onto, tree, fastForward, branch, into } = plan
  const isSquash = way === 'squash'
  if (fastForward && !isSquash) return commit
  await expectIdentity(git)
  if (isSquash && tree === (await treeOf(git.look, onto)))
    throw new ParleyError('conflict', `${into} has all changes of ${branch} already.`)
  const where = /^(main|master)$/.test(into) ? '' : ` into ${into}`
  const usual = `${isSquash ? 'Squash' : 'Merge'} branch '${branch}'${where}`
  const parents = isSquash ? [onto] : [onto, commit]
  const made = await git.change(
    [
      ...(['commit-tree', tree] as const),
      ...parents.flatMap((parent) => ['-p', parent]),
      ...((await signs(git)) ? ['-S'] : []),
    ],
    { input: `${(message ?? usual).trim()}\n`, timeoutMs: commitMs },
  )
  if (made.code === 0) return made.stdout.trim()
  throw new ParleyError('conflict', `git made no commit: ${made.stderr || 'no reason given'}`)
}

/** The time limit for a commit, which may be signed. */
const commitMs = 60_000

/**
 * True if the person signs commits. `commit-tree` does not read this setting. The last value is the one that Parley
 * sets, so the value before it is used.
 */
async function signs({ look, trusted }: FolderGit): Promise<boolean> {
  if (!trusted) return false
  const { stdout } = await look(['config', '-z', '--type=bool', '--get-all', 'commit.gpgSign'])
  return stdout.split('\0').slice(0, -1).at(-2) === 'true'
}

/** The maximum time for which the branch is locked. */
const lockMs = 10 * 60_000

/**
 * Writes the files of the work tree in which the base branch is checked out, then moves the branch. Meanwhile, git
 * locks the branch and the HEAD of that work tree, so nobody can commit or switch branches there. If this process is
 * killed, git releases the locks.
 */
async function moveBranch(plan: MergePlan, to: string, reason: string): Promise<void> {
  const { git, checkout, into, onto } = plan
  let isWritten = false
  const input = `start\nupdate refs/heads/${into} ${to} ${onto}\nprepare\n`
  const answer = async (line: string) => {
    if (line !== 'prepare: ok') return line === 'start: ok' ? '' : undefined
    if (checkout) {
      await writeMerged(checkout, plan)
      isWritten = true
    }
    return 'commit\n'
  }
  const moved = await (checkout ?? git)
    .change(['update-ref', '-m', reason, '--stdin'], { input, answer, timeoutMs: lockMs })
    .catch((error: unknown) => ({ error }))
  if ('code' in moved && moved.code === 0) return
  if (checkout && isWritten) await unwriteMerged(checkout, plan)
  if ('error' in moved) throw moved.error
  if (/but expected/.test(moved.stderr))
    throw new ParleyError(
      'conflict',
      `${into} has changed since the preview, so nothing was merged. Open the merge preview again.`,
    )
  throw new ParleyError(
    'busy',
    `git could not move ${into}: ${moved.stderr || 'no reason given'}. Try again.`,
  )
}

async function described(
  { look }: FolderGit,
  { branch, commit: merged, into, onto, folder, way = 'merge' }: AskedMerge['command'],
  commit: string,
): Promise<Merged> {
  const isMade = commit !== merged
  const [files, count, message] = await Promise.all([
    look(['diff-tree', '-r', '--name-only', '--no-renames', '-z', onto, commit]),
    look(['rev-list', '--count', `${onto}..${merged}`, '--']),
    isMade ? look(['log', '-1', '--format=%B', commit, '--']) : undefined,
  ])
  return {
    ...{ branch, merged, into, before: onto, commit, way: isMade ? way : 'fast-forward' },
    ...{ commits: Number(count.stdout), files: files.stdout.split('\0').length - 1 },
    ...defined({ message: message?.stdout.trim(), folder }),
  }
}
