import { errorInfoOf, type MergePreview, ParleyError } from '@parley/protocol'
import type { Looked } from '../core/folder-changes.ts'
import { baseBranch } from './base-branch.ts'
import { checkedOut } from './branch.ts'
import { changesBetween } from './changes.ts'
import { checkoutOf } from './checkouts.ts'
import { expectIdentity } from './commit.ts'
import { conversionsOf, needsTrust } from './converted.ts'
import { type FolderGit, folderGit } from './folder-git.ts'
import type { GitIn, Look } from './git.ts'
import { headOf } from './head.ts'
import { inTheWay, type Move, movedPaths, pathsInTheWay } from './merge-files.ts'
import { shownPath } from './obstacles.ts'
import { commitAt, ownRepository } from './worktree-repository.ts'

/** Computes the effect of a merge into the base branch. Changes no file, no index and no ref. */

export type MergePlan = Move & {
  readonly git: FolderGit
  readonly branch: string
  readonly commit: string
  /** Git in the work tree in which the base branch is checked out; undefined if there is none. */
  readonly checkout: FolderGit | undefined
  readonly fastForward: boolean
}

export type ExaminedMerge =
  | { readonly preview: MergePreview; readonly plan: MergePlan }
  | { readonly preview: MergePreview; readonly error: ParleyError }

type Found = { -readonly [Field in keyof MergePreview]: MergePreview[Field] }

export async function examineMerge(
  gitIn: GitIn,
  folder: string,
  { base, madeFrom, trusts }: Looked,
): Promise<ExaminedMerge> {
  const git = await folderGit(gitIn, folder, trusts)
  // Rejects a folder whose `.git` file names the repository of somebody else.
  const { commonDir } = await ownRepository(folder)
  const found: Found = { ...nothing, ...(await uncommittedIn(git.look)) }
  try {
    const sides = await sidesOf(git, found, { base, madeFrom })
    const checkout = await checkoutOf(git.look, commonDir, sides.into)
    if (checkout !== undefined) found.into = { branch: sides.into, commit: sides.onto, folder: checkout }
    const at = checkout === undefined ? undefined : await folderGit(gitIn, checkout, trusts)
    const merged = await mergedTree(git, found, sides)
    const plan = { git, ...sides, checkout: at, ...merged }
    if (at) await expectFree(at, found, plan)
    if (!merged.fastForward) await expectIdentity(git)
    return { preview: found, plan }
  } catch (error) {
    if (!(error instanceof ParleyError) || error.code === 'busy') throw error
    return { preview: { ...found, refused: errorInfoOf(error) }, error }
  }
}

const nothing = {
  ...{ fastForward: false, commits: [], commitCount: 0, files: [], conflicts: [], blocked: [] },
  ...{ uncommitted: [], uncommittedCount: 0 },
} satisfies MergePreview

const maxPaths = 200
const maxCommits = 100
const maxSubject = 500

async function uncommittedIn(look: Look): Promise<Pick<Found, 'uncommitted' | 'uncommittedCount'>> {
  const [tracked, others] = await Promise.all([
    look(['diff', '--name-only', '--no-renames', '-z', 'HEAD', '--']),
    look(['ls-files', '-z', '--others', '--exclude-standard']),
  ])
  const paths = [tracked, others].flatMap(({ stdout }) => stdout.split('\0').filter((path) => path !== ''))
  return { uncommitted: paths.slice(0, maxPaths), uncommittedCount: paths.length }
}

type Sides = Pick<MergePlan, 'branch' | 'commit' | 'into' | 'onto'>

type BaseChoice = Pick<Looked, 'base' | 'madeFrom'>

async function sidesOf({ look }: FolderGit, found: Found, choice: BaseChoice): Promise<Sides> {
  const [branch, commit] = await Promise.all([checkedOut(look), headOf(look)])
  if (branch === undefined || commit === undefined)
    throw new ParleyError('conflict', 'No branch with a commit is checked out, so there is nothing to merge.')
  Object.assign(found, { branch, commit })
  const into = await baseName(look, choice)
  const onto = await commitAt(look, `refs/heads/${into}`)
  if (onto === undefined) {
    const message = `There is no local branch ${into} to merge into. Make it in a terminal: git branch ${into} origin/${into}`
    throw new ParleyError('not_supported', message, { details: { base: into } })
  }
  found.into = { branch: into, commit: onto }
  if (into === branch)
    throw new ParleyError('conflict', `${branch} is the base branch itself, so there is nothing to merge.`)
  await expectCommits(look, found, { branch, commit, into, onto })
  return { branch, commit, into, onto }
}

/**
 * The name of the base branch: the branch in the settings, otherwise the default branch of the repository, otherwise
 * the branch from which the worktree was made.
 */
async function baseName(look: Look, { base: given, madeFrom }: BaseChoice): Promise<string> {
  const ref = await baseBranch(look, given, madeFrom)
  if (ref === undefined || (given !== undefined && ref !== given && !ref.endsWith(`/${given}`))) {
    const message =
      given === undefined
        ? 'This repository has no branch main or master, and origin names no default branch. Set the base branch in the settings of the project.'
        : `The base branch of the project, ${given}, does not exist. Change it in the settings of the project.`
    throw new ParleyError('not_supported', message)
  }
  return ref.replace(/^refs\/(heads|remotes\/[^/]+)\//, '')
}

async function expectCommits(look: Look, found: Found, { branch, commit, into, onto }: Sides): Promise<void> {
  const range = `${onto}..${commit}`
  const [count, log] = await Promise.all([
    look(['rev-list', '--count', range, '--']),
    look(['log', '--format=%H%x00%s', `-${maxCommits}`, range, '--']),
  ])
  if (count.code !== 0 || log.code !== 0)
    throw new ParleyError('busy', 'git could not list the commits. Try again.')
  found.commitCount = Number(count.stdout)
  found.commits = log.stdout.split('\n').flatMap((line) => {
    const end = line.indexOf('\0')
    return end < 0
      ? []
      : [
          {
            commit: line.slice(0, end),
            subject: line
              .slice(end + 1)
              .slice(0, maxSubject)
              .toWellFormed(),
          },
        ]
  })
  if (found.commitCount > 0) return
  const left = found.uncommittedCount > 0 ? ' Commit the changes first.' : ''
  throw new ParleyError(
    'conflict',
    `${into} has all commits of ${branch}, so there is nothing to merge.${left}`,
  )
}

/** The time limit of `git merge-tree`, which runs the merge drivers of a trusted repository. */
const mergeMs = 2 * 60_000

async function mergedTree(
  git: FolderGit,
  found: Found,
  { commit, into, onto }: Sides,
): Promise<Pick<MergePlan, 'fastForward' | 'tree'>> {
  found.fastForward = (await git.look(['merge-base', '--is-ancestor', onto, commit])).code === 0
  if (found.fastForward) {
    await listFiles(git.look, found, { onto, tree: commit })
    return { fastForward: true, tree: await treeOf(git.look, commit) }
  }
  const args = ['--write-tree', '-z', '--name-only', '--no-messages', onto, commit] as const
  const { code, stdout, stderr } = await git.change(['merge-tree', ...args], { timeoutMs: mergeMs })
  const [tree = '', ...paths] = stdout.split('\0').filter((part) => part !== '')
  if (code === 129) throw tooOld()
  if (/unrelated histories/.test(stderr))
    throw new ParleyError(
      'conflict',
      `The branch and ${into} have no commit in common, so they cannot be merged.`,
    )
  if (!/^[0-9a-f]{40,64}$/.test(tree) || code > 1)
    throw new ParleyError(
      'busy',
      `git could not compute the merge: ${stderr || 'no reason given'}. Try again.`,
    )
  found.conflicts = paths.slice(0, maxPaths)
  if (code === 1) {
    const message = `The branch and ${into} have changed the same lines, so git cannot merge them. Ask the agent to merge ${into} into its branch, then merge here.`
    throw new ParleyError('conflict', message, { details: { conflicts: found.conflicts } })
  }
  await listFiles(git.look, found, { onto, tree })
  return { fastForward: false, tree }
}

async function listFiles(look: Look, found: Found, { onto, tree }: Pick<Move, 'onto' | 'tree'>) {
  const { files, cut } = await changesBetween(look, onto, tree)
  found.files = files
  if (cut) found.filesCut = true
}

function tooOld(): ParleyError {
  const message =
    'The git of this machine is too old to merge here: it needs version 2.38 or later. Update it, or merge in a terminal.'
  return new ParleyError('not_supported', message, { details: { missing: 'merge-tree' } })
}

export async function treeOf(look: Look, commit: string): Promise<string> {
  const { code, stdout } = await look(['rev-parse', '--verify', '-q', `${commit}^{tree}`])
  if (code === 0) return stdout.trim()
  throw new ParleyError('busy', 'git could not read a commit. Try again.')
}

/** Throws unless the merged files can be written into the work tree in which the base branch is checked out. */
async function expectFree(at: FolderGit, found: Found, plan: MergePlan): Promise<void> {
  if (!at.trusted) {
    const moved = await movedPaths(at.look, plan.onto, plan.tree)
    const paths = [...moved].flatMap(([path, status]) => (status === 'D' ? [] : [shownPath(path)]))
    for (const [path, attributes] of await conversionsOf(at.look, paths)) {
      const filter = attributes.get('filter')
      if (filter !== undefined) throw needsTrust(path, filter)
    }
  }
  found.blocked = (await pathsInTheWay(at, plan)).slice(0, maxPaths)
  if (found.blocked.length > 0) throw inTheWay(at.workTree, found.blocked)
}
