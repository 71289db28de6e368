import { defined, type PullRequestCheck, type PullRequestComment } from '@parley/protocol'
import { linesOfGithub } from './check-logs.ts'
import type { FolderGit } from './folder-git.ts'
import {
  askedJson,
  type Forge,
  type FoundRequest,
  forgeFailed,
  type LogSource,
  mostOfRequest,
  told,
} from './forge.ts'

const fields =
  'number,url,title,state,isDraft,baseRefName,headRefName,isCrossRepository,comments,reviews,latestReviews'

/** GitHub, through its command-line program `gh`. */
export const github: Forge = {
  async find(git, branch) {
    const options = [`--head=${branch}`, '--state=all', '--limit=20', `--json=${fields}`]
    const requests = told.list(await askedJson(git, ['gh', 'pr', 'list', ...options])).flatMap(requestIn)
    // Another person's fork of the repository can have a branch of the same name.
    const own = requests.filter((one) => one.told.isCrossRepository !== true)
    return [...own, ...requests].find(({ state }) => state === 'open') ?? own[0]
  },
  async details(git, found) {
    const [checks, review] = await Promise.all([checksOf(git, found), reviewOf(git, found)])
    const comments = [
      ...told.list(found.told.comments).flatMap(commentIn),
      ...told.list(found.told.reviews).flatMap(commentIn),
      ...review,
    ]
    comments.sort((one, other) => ((one.at ?? '') < (other.at ?? '') ? -1 : 1))
    const isCut = checks.length > mostOfRequest.checks || comments.length > mostOfRequest.comments
    return {
      checks: checks.slice(0, mostOfRequest.checks),
      comments: comments.slice(-mostOfRequest.comments),
      ...(isCut && { cut: true }),
    }
  },
  async failedLogs(git, found) {
    const failed = (await checksOf(git, found)).filter(({ result }) => result === 'failed')
    return failed.map(({ name, url = '' }): LogSource => {
      const [, job] = /\/actions\/runs\/\d+\/job\/(\d{1,20})(?:[?#]|$)/.exec(url) ?? []
      if (job === undefined)
        return { name, problem: 'GitHub Actions did not run this check, so gh has no log of it.' }
      return { name, args: ['gh', 'run', 'view', `--job=${job}`, '--log-failed'], lines: linesOfGithub }
    })
  },
  async open(git, { branch, base, title, body, draft }) {
    const options = [`--head=${branch}`, `--base=${base}`, `--title=${title}`, '--body-file=-']
    const args = ['gh', 'pr', 'create', ...options, ...(draft ? ['--draft'] : [])] as const
    const made = await git.reach(args, { input: body, timeoutMs: 60_000 })
    const url = told.url(made.stdout.trim().split('\n').at(-1)?.trim())
    if (made.code === 0 && url !== undefined) return url
    throw forgeFailed('gh', made)
  },
}

const states = { OPEN: 'open', MERGED: 'merged', CLOSED: 'closed' } as const

function requestIn(one: Readonly<Record<string, unknown>>): FoundRequest[] {
  const [number, url] = [told.whole(one.number), told.url(one.url)]
  const state = states[one.state as keyof typeof states]
  if (number === undefined || url === undefined || !state) return []
  const [title = '', base = ''] = [told.text(one.title), told.text(one.baseRefName)]
  return [{ number, url, title, state, draft: one.isDraft === true, base, told: one }]
}

const results = {
  pass: 'passed',
  fail: 'failed',
  pending: 'pending',
  skipping: 'skipped',
  cancel: 'cancelled',
} as const

async function checksOf(git: FolderGit, { number }: FoundRequest): Promise<PullRequestCheck[]> {
  const args = ['gh', 'pr', 'checks', String(number), '--json=name,bucket,link,description,workflow'] as const
  // If there are no checks, the program fails and writes no JSON.
  const answered = await git.reach(args, { timeoutMs: 30_000, limit: 8 * 1024 * 1024 })
  if (answered.stdout.trim() === '') return []
  return told.list(jsonIn(answered.stdout)).map((one) => {
    const [name, workflow] = [told.text(one.name) ?? 'check', told.text(one.workflow)]
    return {
      name: workflow === undefined ? name : `${workflow} / ${name}`,
      result: results[one.bucket as keyof typeof results] ?? 'pending',
      ...defined({ text: told.text(one.description), url: told.url(one.link) }),
    }
  })
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return []
  }
}

/** Reads the comments on lines of the changes. */
async function reviewOf(git: FolderGit, { number }: FoundRequest): Promise<PullRequestComment[]> {
  const path = `repos/{owner}/{repo}/pulls/${number}/comments?per_page=100`
  return told.list(await askedJson(git, ['gh', 'api', path])).flatMap(commentIn)
}

const verdicts = { APPROVED: 'approved', CHANGES_REQUESTED: 'changes-requested' } as const

/** Converts a comment, a review or a comment on a line. `gh` and the API of GitHub name their fields differently. */
function commentIn(one: Readonly<Record<string, unknown>>): PullRequestComment[] {
  const author = told.text(told.record(one.author ?? one.user).login, 100) ?? 'somebody'
  const text = told.text(one.body, mostOfRequest.characters)
  const verdict = verdicts[one.state as keyof typeof verdicts]
  if (text === undefined && !verdict) return []
  const at = told.text(one.createdAt ?? one.submittedAt ?? one.created_at)
  const line = told.whole(one.line) ?? told.whole(one.original_line)
  const url = told.url(one.html_url ?? one.url)
  return [
    { author, text: text ?? '', ...defined({ at, url, path: told.text(one.path, 4_096), line, verdict }) },
  ]
}
