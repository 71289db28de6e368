import { copyFile, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Committed, defined, ParleyError, type SeenFile } from '@parley/protocol'
import type { Asked } from '../core/folder-changes.ts'
import { changesOf } from './changes.ts'
import { type FolderGit, folderGit } from './folder-git.ts'
import type { GitIn } from './git.ts'
import { headOf } from './head.ts'
import { lastLines, outputOf } from './output.ts'
import { commitWithMark, markOf } from './reflog-mark.ts'
import type { Entries } from './restore.ts'
import type { GitResult } from './run-git.ts'
import { changedMeanwhile, namedFiles, pathsOf } from './seen-files.ts'
import { entriesToStage } from './stage.ts'
import { differing, entriesOf, stagedEntries, writeStaged } from './staged.ts'

/** The time limit of a commit, including its hooks. */
const commitMs = 15 * 60_000

/**
 * Commits files as they are in the folder, or the staged changes. The reflog contains a mark of the command, so a
 * command that is repeated after a crash finds its commit.
 */
export async function commit(
  gitIn: GitIn,
  folder: string,
  asked: Asked<'changes.commit'>,
): Promise<Committed> {
  const { command, trusts } = asked
  const git = await folderGit(gitIn, folder, trusts)
  const mark = markOf('commit', asked)
  const earlier = await commitWithMark(git.look, 'HEAD', mark)
  if (earlier !== undefined) return described(git, earlier)
  await expectOrdinary(git)
  await expectIdentity(git)
  const attempt = (index?: string) => attempted(git, asked, mark, index)
  const { hash, made } = command.staged
    ? await commitStaged(git, command.files, attempt)
    : await commitFiles(git, command.files, attempt)
  if (hash !== undefined) return described(git, hash, made)
  throw refused(made)
}

const unfinished = {
  MERGE_HEAD: 'merge',
  CHERRY_PICK_HEAD: 'cherry-pick',
  REVERT_HEAD: 'revert',
  'rebase-merge': 'rebase',
  'rebase-apply': 'rebase',
} as const

/** The operation that is unfinished in a work tree, such as a merge; undefined if there is none. */
export async function unfinishedIn({ repository }: FolderGit): Promise<string | undefined> {
  for (const [name, what] of Object.entries(unfinished)) {
    const found = await stat(join(repository.gitDir, name)).catch(() => undefined)
    if (found) return what
  }
  return undefined
}

async function expectOrdinary(git: FolderGit): Promise<void> {
  const what = await unfinishedIn(git)
  if (what === undefined) return
  const message = `A ${what} is not finished in this folder. Finish or abort it in a terminal, then commit.`
  throw new ParleyError('conflict', message, { details: { unfinished: what } })
}

/** The name and the address that git writes into commits. Throws ParleyError `not_supported` if there are none. */
export async function expectIdentity({ change }: FolderGit): Promise<{ name: string; email: string }> {
  const { code, stdout } = await change(['var', 'GIT_AUTHOR_IDENT'])
  const [, name, email] = /^(.*) <(.*)> \d+ [+-]\d+\s*$/.exec(stdout) ?? []
  if (code === 0 && name !== undefined && email !== undefined) return { name, email }
  const message =
    'Git does not know who you are on this machine. Set user.name and user.email, for example with git config --global user.name "Your Name".'
  throw new ParleyError('not_supported', message, { details: { missing: 'identity' } })
}

type Attempt = { readonly hash: string | undefined; readonly made: GitResult | undefined }
type Commit = (index?: string) => Promise<Attempt>

/** Runs `git commit`. The commit may exist even if git fails or is ended afterwards, for example in a hook. */
async function attempted(
  git: FolderGit,
  { command, signal, progress }: Asked<'changes.commit'>,
  mark: string,
  index: string | undefined,
): Promise<Attempt> {
  const verify = command.verify === false ? ['--no-verify'] : []
  const args = ['--quiet', '--cleanup=whitespace', ...verify, '--file=-'] as const
  const running = git.change(['commit', ...args], {
    input: command.message,
    env: { GIT_REFLOG_ACTION: mark, ...defined({ GIT_INDEX_FILE: index }) },
    ...(git.trusted && { timeoutMs: commitMs }),
    ...{ signal, ...defined({ progress: lastLines(progress) }) },
  })
  const made = await running.catch((error: unknown) => ({ error }))
  const hash = await commitWithMark(git.look, 'HEAD', mark)
  if (!('error' in made)) return { hash, made }
  if (hash === undefined) throw made.error
  return { hash, made: undefined }
}

/** Commits the index. Throws unless the index contains exactly these changes. */
async function commitStaged(git: FolderGit, files: readonly SeenFile[], commit: Commit): Promise<Attempt> {
  const { files: staged, cut } = await changesOf(git.look, git.workTree, 'HEAD', { side: 'staged' })
  if (cut) throw new ParleyError('too_large', 'Too many files are staged. Commit them in a terminal.')
  const seen = new Map(namedFiles(git, files).map(({ path, file }) => [path, file.blob]))
  const other = staged.find(({ path, blob }) => seen.get(path) !== blob)?.path
  if (other !== undefined) throw changedMeanwhile(other, undefined)
  const listed = new Set(staged.map(({ path }) => path))
  const gone = [...seen.keys()].find((path) => !listed.has(path))
  if (gone !== undefined) throw changedMeanwhile(gone, undefined)
  return commit()
}

/**
 * Commits only these files: git gets a temporary index with HEAD and the files. The files are also staged in the
 * index of the repository before the commit, and unstaged if the commit fails.
 */
async function commitFiles(git: FolderGit, files: readonly SeenFile[], commit: Commit): Promise<Attempt> {
  const named = namedFiles(git, files)
  const paths = pathsOf(named)
  const hashLength = files[0]?.blob.length ?? 40
  const staged = await stagedEntries(git.look, paths)
  const entries = await entriesToStage(git, named, staged)
  const head = await headOf(git.look)
  const place = await mkdtemp(join(tmpdir(), 'parley-index-'))
  const index = join(place, 'index')
  const before = differing(paths, staged, present(entries))
  try {
    await writeStaged(git.change, entries, hashLength)
    await beginIndex(git, index, head)
    await writeStaged(git.change, entries, hashLength, { GIT_INDEX_FILE: index })
    const attempt = await commit(index)
    if (attempt.hash === undefined) await putBack(git, before, entries, hashLength)
    else await afterCommit(git, attempt.hash, { head, paths, entries, hashLength })
    return attempt
  } catch (error) {
    await putBack(git, before, entries, hashLength).catch(() => undefined)
    throw error
  } finally {
    await rm(place, { recursive: true, force: true })
  }
}

const present = (entries: Entries) =>
  new Map([...entries].flatMap(([path, entry]) => (entry ? [[path, entry] as const] : [])))

/**
 * Creates a temporary index with the tree of HEAD. It is copied from the repository's index if possible, to reuse the
 * cached file states.
 */
async function beginIndex({ change, repository }: FolderGit, index: string, head: string | undefined) {
  const own = join(repository.gitDir, 'index')
  const env = { GIT_INDEX_FILE: index }
  const isCopied = await copyFile(own, index).then(
    () => true,
    () => false,
  )
  const kept = isCopied && head !== undefined && (await change(['read-tree', '-m', head], { env })).code === 0
  if (kept) return
  await rm(index, { force: true })
  const { code, stderr } = await change(['read-tree', head ?? '--empty'], { env })
  if (code !== 0) throw new ParleyError('busy', `git could not read HEAD: ${stderr}. Try again.`)
}

/** Unstages the files of a failed commit, except those that another program has staged since. */
async function putBack(git: FolderGit, before: Entries, entries: Entries, hashLength: number): Promise<void> {
  const paths = [...before.keys()]
  const others = differing(paths, await stagedEntries(git.look, paths), present(entries))
  const left = [...before].filter(([path]) => !others.has(path))
  await writeStaged(git.change, new Map(left), hashLength)
}

type AfterCommit = {
  readonly head: string | undefined
  readonly paths: readonly string[]
  readonly entries: Entries
  readonly hashLength: number
}

/**
 * Stages the files as the hooks have changed them. If another program has made a commit meanwhile, the new commit
 * would undo the other commit. In this case, moves HEAD back to the other commit and throws ParleyError `conflict`.
 */
async function afterCommit(
  git: FolderGit,
  commit: string,
  { head, paths, entries, hashLength }: AfterCommit,
): Promise<void> {
  const { stdout } = await git.look(['rev-list', '--parents', '--max-count=1', commit])
  const [, parent] = stdout.trim().split(' ')
  if (parent !== undefined && parent !== head) {
    await git.change(['update-ref', '-m', 'taken back', 'HEAD', parent, commit])
    throw new ParleyError('conflict', 'Another program has made a commit at the same time. Try again.')
  }
  const committed = await entriesOf(git.look, commit, paths)
  const made = differing(paths, committed, present(entries))
  const now = await stagedEntries(git.look, [...made.keys()])
  const others = differing([...made.keys()], now, present(entries))
  await writeStaged(git.change, new Map([...made].filter(([path]) => !others.has(path))), hashLength)
}

async function described({ look }: FolderGit, commit: string, made?: GitResult): Promise<Committed> {
  const [listed, message, branch] = await Promise.all([
    look(['diff-tree', '--no-commit-id', '-r', '--root', '--name-only', '-z', commit]),
    look(['log', '-1', '--format=%B', commit]),
    look(['symbolic-ref', '--short', '-q', 'HEAD']),
  ])
  const output = made && outputOf(made)
  return {
    ...{ commit, message: message.stdout.trim(), files: listed.stdout.split('\0').length - 1 },
    ...(branch.code === 0 && { branch: branch.stdout.trim() }),
    ...(output && { output }),
  }
}

function refused(made: GitResult | undefined): ParleyError {
  const output = made ? outputOf(made) : ''
  if (made && /nothing to commit|no changes added|nothing added to commit/.test(made.stdout))
    return new ParleyError('conflict', 'There is nothing to commit.')
  const why = output === '' ? '.' : `: ${output.split('\n').at(-1)}`
  return new ParleyError('conflict', `git made no commit${why}`, {
    details: { exitCode: made?.code ?? -1, output },
  })
}
