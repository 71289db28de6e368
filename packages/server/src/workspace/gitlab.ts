import { defined, type PullRequestCheck, type PullRequestComment } from '@parley/protocol'
import {
  askedJson,
  type Forge,
  type FoundRequest,
  forgeFailed,
  type LogSource,
  mostOfRequest,
  told,
} from './forge.ts'

const project = 'projects/:fullpath/merge_requests'

/** GitLab, through its command-line program `glab`. */
export const gitlab: Forge = {
  async find(git, branch) {
    const path = `${project}?source_branch=${encodeURIComponent(branch)}&per_page=20`
    const requests = told.list(await askedJson(git, ['glab', 'api', path])).flatMap(requestIn)
    return requests.find(({ state }) => state === 'open') ?? requests[0]
  },
  async details(git, { number }) {
    const [jobs, notes] = await Promise.all([
      askedJson(git, ['glab', 'api', `${project}/${number}/pipelines?per_page=20`]),
      askedJson(git, ['glab', 'api', `${project}/${number}/notes?per_page=100&sort=asc`]),
    ])
    // The first pipeline in the list is the latest one; only its checks are shown.
    const checks = told.list(jobs).slice(0, 1).map(checkIn)
    const comments = told.list(notes).flatMap(commentIn)
    return { checks, comments: comments.slice(-mostOfRequest.comments) }
  },
  async failedLogs(git, { number }) {
    const pipelines = await askedJson(git, ['glab', 'api', `${project}/${number}/pipelines?per_page=20`])
    const [latest = {}] = told.list(pipelines)
    const id = told.whole(latest.id)
    if (id === undefined || latest.status !== 'failed') return []
    const jobs = `projects/:fullpath/pipelines/${id}/jobs?scope[]=failed&per_page=100`
    return told.list(await askedJson(git, ['glab', 'api', jobs])).flatMap((job): LogSource[] => {
      const [number, name] = [told.whole(job.id), told.text(job.name) ?? 'job']
      const trace = `projects/:fullpath/jobs/${number}/trace`
      return number === undefined ? [] : [{ name, args: ['glab', 'api', trace] }]
    })
  },
  async open(git, { branch, base, title, body, draft }) {
    const options = [`--source-branch=${branch}`, `--target-branch=${base}`, `--title=${title}`]
    const text = [`--description=${body}`, '--yes', ...(draft ? ['--draft'] : [])]
    const made = await git.reach(['glab', 'mr', 'create', ...options, ...text], { timeoutMs: 60_000 })
    const found = `${made.stdout}\n${made.stderr}`.match(/https?:\/\/\S+\/merge_requests\/\d+/g)?.at(-1)
    const url = told.url(found)
    if (made.code === 0 && url !== undefined) return url
    throw forgeFailed('glab', made)
  },
}

const states = { opened: 'open', locked: 'open', merged: 'merged', closed: 'closed' } as const

function requestIn(one: Readonly<Record<string, unknown>>): FoundRequest[] {
  const [number, url] = [told.whole(one.iid), told.url(one.web_url)]
  const state = states[one.state as keyof typeof states]
  if (number === undefined || url === undefined || !state) return []
  const [title = '', base = ''] = [told.text(one.title), told.text(one.target_branch)]
  return [{ number, url, title, state, draft: one.draft === true, base, told: one }]
}

const results: Readonly<Record<string, PullRequestCheck['result']>> = {
  success: 'passed',
  failed: 'failed',
  skipped: 'skipped',
  canceled: 'cancelled',
}

function checkIn(one: Readonly<Record<string, unknown>>): PullRequestCheck {
  const result = results[String(one.status)] ?? 'pending'
  const name = `Pipeline ${told.whole(one.id) ?? ''}`.trim()
  return { name, result, ...defined({ url: told.url(one.web_url) }) }
}

function commentIn(one: Readonly<Record<string, unknown>>): PullRequestComment[] {
  const text = told.text(one.body, mostOfRequest.characters)
  if (one.system === true || text === undefined) return []
  const author = told.text(told.record(one.author).username, 100) ?? 'somebody'
  const position = told.record(one.position)
  const [path, line] = [told.text(position.new_path, 4_096), told.whole(position.new_line)]
  return [{ author, text, ...defined({ at: told.text(one.created_at), path, line }) }]
}
