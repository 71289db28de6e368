import {
  defined,
  hasCode,
  messageOf,
  type OpenedPullRequest,
  ParleyError,
  type PullRequest,
  type PullRequestInfo,
} from '@parley/protocol'
import type { Asked, CheckLogs, Looked } from '../core/folder-changes.ts'
import { baseBranch } from './base-branch.ts'
import { checkedOut, isBaseBranch, remoteRef } from './branch.ts'
import { mostLogs, readLogs } from './check-logs.ts'
import { type FolderGit, folderGit } from './folder-git.ts'
import type { Forge, ForgeName } from './forge.ts'
import type { GitIn } from './git.ts'
import { newRequestLink, pageOf, programFor, type Remote, remoteOf } from './remote.ts'

/** The branch of a pull request, its base and its remote, and the command-line program of its host. */
type Place = {
  readonly branch: string
  readonly base: string
  readonly remote: Remote
  readonly program?: ForgeName
  readonly link?: string
}

const forges = {
  gh: async () => (await import('./github.ts')).github,
  glab: async () => (await import('./gitlab.ts')).gitlab,
} as const satisfies Record<ForgeName, () => Promise<Forge>>

/** Opens a pull request for the checked-out branch. Throws a ParleyError if there is an open one. */
export async function openPullRequest(
  gitIn: GitIn,
  folder: string,
  { command, trusts, ...choice }: Asked<'pull-request.open'>,
): Promise<OpenedPullRequest> {
  const git = await folderGit(gitIn, folder, trusts)
  const place = await placeOf(git, choice)
  const { branch, base, remote, program, link } = place
  const pushed = await git.look(['rev-parse', '--verify', '-q', remoteRef(remote, branch)])
  if (pushed.code !== 0)
    throw new ParleyError('conflict', `${branch} is not pushed to ${remote.name} yet. Push it first.`)
  if (!program) throw new ParleyError('not_supported', openByHand(link), { details: defined({ link }) })
  const { title, body = '', draft = false } = command
  const forge = await forges[program]()
  try {
    const open = await forge.find(git, branch)
    if (open?.state === 'open') return opened({ ...place, ...open })
    const url = await forge.open(git, { branch, base, title, body, draft })
    return opened({ ...place, title, url, draft, number: Number(/(\d+)\/?$/.exec(url)?.[1]) })
  } catch (error) {
    if (!hasCode(error, 'not_supported')) throw error
    const message = `${messageOf(error)} ${openByHand(link)}`
    throw new ParleyError('not_supported', message, { details: { ...error.details, ...defined({ link }) } })
  }
}

const openByHand = (link: string | undefined) =>
  link === undefined
    ? 'Open the pull request on the page of your repository.'
    : `Open the pull request there: ${link}`

function opened(request: Place & Pick<PullRequest, 'url' | 'number' | 'title' | 'draft'>): OpenedPullRequest {
  const { url, number, title, branch, base, draft } = request
  return {
    ...{ url, title, branch, base },
    ...(Number.isSafeInteger(number) && { number }),
    ...(draft && { draft }),
  }
}

/** The pull request of the checked-out branch, with its checks and comments. If it cannot be read, the reason. */
export async function pullRequestInfo(
  gitIn: GitIn,
  folder: string,
  { trusts, ...choice }: Looked,
): Promise<PullRequestInfo> {
  const git = await folderGit(gitIn, folder, trusts)
  const { branch, program, link } = await placeOf(git, choice)
  if (!program) return defined({ link })
  const known = { program, ...defined({ link }) }
  try {
    const forge = await forges[program]()
    const found = await forge.find(git, branch)
    if (!found) return known
    const { told: _, ...request } = found
    return { ...known, request: { ...request, ...(await forge.details(git, found)) } }
  } catch (error) {
    const problem = problemOf(error)
    if (!problem) throw error
    return { ...known, problem, message: messageOf(error) }
  }
}

/** The logs of the failed checks of the open request. */
export async function checkLogs(
  gitIn: GitIn,
  folder: string,
  { trusts, ...choice }: Looked,
): Promise<CheckLogs> {
  const git = await folderGit(gitIn, folder, trusts)
  const { branch, program } = await placeOf(git, choice)
  if (!program)
    throw new ParleyError('not_supported', 'No program is known that reads the checks of this host.')
  const forge = await forges[program]()
  const found = await forge.find(git, branch)
  if (!found) throw new ParleyError('not_found', `${branch} has no pull request.`)
  const sources = await forge.failedLogs(git, found)
  const more = Math.max(0, sources.length - mostLogs)
  return { logs: await readLogs(git, sources), ...(more > 0 && { more }) }
}

function problemOf(error: unknown): PullRequestInfo['problem'] {
  if (hasCode(error, 'forbidden')) return 'not-trusted'
  if (hasCode(error, 'not_supported')) return 'not-installed'
  if (hasCode(error, 'busy')) return 'failed'
  if (!hasCode(error, 'conflict')) return undefined
  return error.details?.problem === 'not-signed-in' ? 'not-signed-in' : 'failed'
}

async function placeOf(
  git: FolderGit,
  { base: given, madeFrom }: Pick<Looked, 'base' | 'madeFrom'>,
): Promise<Place> {
  const branch = await checkedOut(git.look)
  if (branch === undefined)
    throw new ParleyError('conflict', 'No branch is checked out, so there is no pull request.')
  if (await isBaseBranch(git.look, branch, given))
    throw new ParleyError('conflict', `${branch} is a base branch, so it has no pull request.`)
  const [remote, ref] = await Promise.all([remoteOf(git, branch), baseBranch(git.look, given, madeFrom)])
  if (!remote) throw new ParleyError('not_supported', 'This repository has no remote.')
  const base = ref?.replace(/^refs\/(heads|remotes\/[^/]+)\//, '') ?? 'main'
  const page = pageOf(remote.url)
  return {
    ...{ branch, base, remote },
    ...defined({
      program: page && programFor(page),
      link: page && newRequestLink(page, branch, base),
    }),
  }
}
