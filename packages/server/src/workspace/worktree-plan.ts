import { lstat, realpath } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { defined, ParleyError, type PlannedWorktree, projectName, type WorktreeOffer } from '@parley/protocol'
import type { AskedWorktree, WantedFiles, WorktreePlan } from '../core/worktrees.ts'
import { branchOf } from './folder.ts'
import type { Look } from './git.ts'
import { ignoredAmong, ignoredFiles } from './worktree-files.ts'
import { expectSpace, type FolderParts, lost } from './worktree-folder.ts'
import { commitAt, ownRepository } from './worktree-repository.ts'

/** Plans the path, the branch and the first commit of a worktree. Only reads. */

export async function planWorktree(
  parts: FolderParts,
  folder: string,
  { project, sessionId, words, wanted, ...asked }: AskedWorktree,
): Promise<WorktreePlan> {
  const { workTree: top, commonDir } = await ownRepository(folder)
  const workTree = asked.source === undefined ? top : (await ownRepository(asked.source)).workTree
  if (commonDir !== project)
    throw new ParleyError('not_supported', `${folder} is not the top of a repository or inside one.`)
  await expectSpace(parts)
  const { look } = parts.gitIn({ path: workTree, trusted: false })
  const { at, commit } = asked
  const found = () =>
    commit === undefined ? baseOf(look, workTree, asked.base) : commitOf(look, workTree, commit)
  const base = at ? { ...at, commit: at.base } : await found()
  const named = { words, sessionId, ...defined({ suffix: asked.suffix }) }
  const branch = await reserveBranch(parts, look, commonDir, { ...named, asked: asked.branch })
  const copy = base.remote ? [] : await filesToCopy(look, workTree, asked.copy, wanted)
  const path = join(await realpath(parts.root), folderName(project, sessionId))
  const worktree: PlannedWorktree = {
    branch,
    base: base.commit,
    ...defined({ from: base.from }),
    path,
    source: workTree,
    ...(copy.length > 0 && { copy }),
    ...(base.remote && { remote: true }),
  }
  return { worktree, cwd: join(path, relative(top, folder)) }
}

/**
 * The name of the folder. It contains the id of the session, so that it is unique and the session can be found from
 * it.
 */
function folderName(project: string, sessionId: string): string {
  const name = projectName(project)
    .replaceAll(/[^\w.-]+/g, '-')
    .replace(/^[.-]+/, '')
  return `${name.slice(0, 60) || 'project'}-${sessionId}`
}

type Base = {
  readonly commit: string
  readonly from?: string | undefined
  readonly remote?: true | undefined
}

async function baseOf(look: Look, workTree: string, asked: string | undefined): Promise<Base> {
  if (asked === undefined) {
    const commit = await commitAt(look, 'HEAD')
    if (commit === undefined)
      throw new ParleyError(
        'not_supported',
        'The repository has no commit yet, so it can have no worktree. Commit something first.',
      )
    return { commit, ...defined({ from: await branchOf(workTree) }) }
  }
  const local = await commitAt(look, `refs/heads/${asked}`)
  if (local !== undefined) return { commit: local, from: asked }
  const remote = await commitAt(look, `refs/remotes/${asked}`)
  if (remote !== undefined) return { commit: remote, from: asked, remote: true }
  const message = `There is no branch ${asked}. Choose another one, or fetch it first.`
  throw new ParleyError('validation_error', message, { details: { base: asked } })
}

/** A commit. If HEAD is at this commit, also the checked-out branch. */
async function commitOf(look: Look, workTree: string, commit: string): Promise<Base> {
  if ((await commitAt(look, commit)) !== commit) throw lost(commit)
  const isHead = (await commitAt(look, 'HEAD')) === commit
  return { commit, ...defined({ from: isHead ? await branchOf(workTree) : undefined }) }
}

/** Chooses the name of the branch, and reserves it until the worktree is made. */
async function reserveBranch(
  { reserved }: Pick<FolderParts, 'reserved'>,
  look: Look,
  repository: string,
  { asked, ...named }: Named & { readonly asked: string | undefined },
): Promise<string> {
  const { sessionId } = named
  const taken = (name: string) => taking(look, name, reserved.of(repository, sessionId))
  for (;;) {
    if (asked !== undefined) await expectFree(taken, asked)
    const branch = asked ?? (await freeBranch(taken, named))
    // Meanwhile, another session may have reserved it.
    if (reserved.add(repository, sessionId, branch)) return branch
  }
}

/** The branch that prevents a branch with this name; undefined if there is none. */
type Taking = (branch: string) => Promise<string | undefined>

async function expectFree(taking: Taking, branch: string): Promise<void> {
  const taken = await taking(branch)
  if (taken === undefined) return
  const message = `The branch ${taken} exists already. Choose another name.`
  throw new ParleyError('conflict', message, { details: { branch: taken } })
}

/** `reserved` are the branches of other worktrees that are not made yet. */
async function taking(
  look: Look,
  branch: string,
  reserved: ReadonlySet<string>,
): Promise<string | undefined> {
  if (reserved.has(branch)) return branch
  const parts = branch.split('/')
  const names = parts.map((_, index) => parts.slice(0, index + 1).join('/'))
  // Such a pattern also matches the branches below a name.
  const { stdout } = await look([
    'for-each-ref',
    '--format=%(refname:lstrip=2)',
    ...names.map((name) => `refs/heads/${name}`),
  ])
  const found = stdout.split('\n').filter((name) => name !== '')
  return found.find((name) => names.includes(name) || name.startsWith(`${branch}/`))
}

const prefix = 'parley'

type Named = { readonly words: string; readonly sessionId: string; readonly suffix?: string }

/** A branch name that is not taken: words of the prompt, with a number if necessary. */
async function freeBranch(taking: Taking, { words, sessionId, suffix }: Named): Promise<string> {
  const own = sessionId.slice(-8)
  const slug = [slugOf(words) || own, suffix && slugOf(suffix)].filter(Boolean).join('-')
  // With a suffix, other branches are planned at the same time and could get the same number.
  const numbers = suffix ? [] : [2, 3, 4, 5, 6, 7, 8, 9]
  const folder = (await taking(prefix)) === prefix ? `${prefix}-` : `${prefix}/`
  for (const name of [slug, ...numbers.map((number) => `${slug}-${number}`), `${slug}-${own}`])
    if ((await taking(folder + name)) === undefined) return folder + name
  throw new ParleyError('conflict', 'No name is free for the branch. Choose one.')
}

const longestSlug = 40

function slugOf(words: string): string {
  const plain = words.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()
  const parts = plain.match(/[a-z0-9]+/g) ?? []
  let slug = ''
  for (const part of parts) {
    const longer = slug === '' ? part : `${slug}-${part}`
    if (longer.length > longestSlug) break
    slug = longer
  }
  return slug || (parts[0] ?? '').slice(0, longestSlug)
}

async function filesToCopy(
  look: Look,
  workTree: string,
  asked: readonly string[] | undefined,
  { copy }: WantedFiles,
): Promise<string[]> {
  if (asked === undefined)
    return (await ignoredFiles(look, workTree, copy)).filter(({ chosen }) => chosen).map(({ path }) => path)
  const ignored = await ignoredAmong(look, asked)
  const other = asked.find((path) => !ignored.includes(path))
  if (other === undefined) return ignored
  const message = `${other} is not a file that git ignores. Files that git tracks are in the worktree anyway.`
  throw new ParleyError('validation_error', message, { details: { path: other } })
}

const maxBranches = 200

export async function offerWorktree(
  parts: FolderParts,
  folder: string,
  wanted: WantedFiles,
): Promise<Omit<WorktreeOffer, 'setup'>> {
  const { workTree } = await ownRepository(folder)
  const freeBytes = await expectSpace(parts)
  const { look } = parts.gitIn({ path: workTree, trusted: false })
  await baseOf(look, workTree, undefined)
  const [head, branches, remotes, changes, copy, files, modules] = await Promise.all([
    branchOf(workTree),
    refs(look, 'refs/heads'),
    refs(look, 'refs/remotes'),
    countChanges(look),
    ignoredFiles(look, workTree, wanted.copy),
    countLinesOf(look, ['ls-files', '-z']),
    lstat(join(workTree, '.gitmodules')).catch(() => undefined),
  ])
  const found = { branches, remotes, changes, copy, files, freeBytes }
  return { ...defined({ head }), ...found, submodules: modules?.isFile() === true }
}

async function refs(look: Look, root: string): Promise<string[]> {
  const format = '--format=%(refname:lstrip=2)'
  const { stdout } = await look([
    'for-each-ref',
    '--sort=-committerdate',
    `--count=${maxBranches}`,
    format,
    root,
  ])
  return stdout.split('\n').filter((name) => name !== '' && basename(name) !== 'HEAD')
}

async function countChanges(look: Look): Promise<number> {
  const [changed, others] = await Promise.all([
    countLinesOf(look, ['diff-index', '--name-only', '-z', 'HEAD', '--']),
    countLinesOf(look, ['ls-files', '-z', '--others', '--exclude-standard']),
  ])
  return changed + others
}

async function countLinesOf(look: Look, args: Parameters<Look>[0]): Promise<number> {
  const { bytes } = await look(args)
  let count = 0
  for (const byte of bytes) if (byte === 0) count++
  return count
}
