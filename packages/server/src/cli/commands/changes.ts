import type { Client } from '@parley/client'
import {
  type BranchInfo,
  type CommandInput,
  defined,
  type EventOf,
  type EventType,
  type FileChange,
  type MergePreview,
  mergeText,
  ParleyError,
  type PullRequest,
  squashMessage,
  suggestedMessage,
} from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import type { Context } from '../context.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { findSession } from '../session-reference.ts'
import { printList } from '../terminal/table.ts'
import { oneLine, visible } from '../terminal/visible.ts'

type Options = Flags & { readonly json?: boolean }
type Work = { readonly client: Client; readonly id: string; readonly print: Print }
type Print = (value: object, text: string) => void

/** Connects, finds the session and calls `work`. `print` writes a result as JSON or as a line of text. */
async function inSession(
  reference: string,
  options: Options,
  context: Context,
  work: (given: Work) => Promise<void>,
): Promise<number> {
  await using server = await connect(existingConfigurationOf(context, options), context)
  const { client } = server
  const id = await findSession(client, reference, context)
  const print: Print = (value, text) =>
    context.output.out(options.json ? `${JSON.stringify(value)}\n` : `${oneLine(text)}\n`)
  await work({ client, id, print })
  return 0
}

/** The time limits for answers that take long. They exceed the limits of the server itself. */
const suggestionMs = 5 * 60_000
const logsMs = 6 * 60_000
const mergePreviewMs = 3 * 60_000

const columns = [
  { name: 'STATUS' },
  { name: 'STAGED' },
  { name: 'ADDED' },
  { name: 'REMOVED' },
  { name: 'PATH', shrinks: true },
]

/** Lists the changed files in the folder of a session. */
export function changes(
  reference: string,
  options: Options & { readonly scope?: string },
  context: Context,
): Promise<number> {
  return inSession(reference, options, context, async ({ client, id }) => {
    const scope = options.scope as 'turn' | 'session' | 'commit' | 'base' | undefined
    const found = await client.call('listChanges', { params: { id }, query: { scope: scope ?? 'commit' } })
    const row = ({ status, staged, added, removed, from, path }: FileChange) => {
      const counts = [added, removed].map((count) => (count === undefined ? '' : String(count)))
      return [status, staged ?? '', ...counts, from === undefined ? path : `${from} → ${path}`]
    }
    printList(
      found.files,
      { columns, row, empty: 'Nothing has changed.' },
      {
        json: options.json,
        output: context.output,
      },
    )
  })
}

/** The changed files of a folder, or those with the given paths, in their present state. */
async function filesOf({ client, id }: Work, paths: readonly string[], side?: 'staged') {
  const { files } = await client.call('listChanges', { params: { id }, query: defined({ side }) })
  const unknown = paths.find((path) => !files.some((file) => file.path === path))
  if (unknown !== undefined)
    throw new ParleyError('not_found', `${unknown} has not changed. Name the paths that changes lists.`)
  const chosen = paths.length === 0 ? files : files.filter(({ path }) => paths.includes(path))
  if (chosen.length === 0) throw new ParleyError('conflict', 'Nothing has changed.')
  return chosen.map(({ path, from, blob }) => {
    if (blob !== undefined) return { path, blob, ...defined({ from }) }
    throw new ParleyError('too_large', `${path} is too large. Use git in a terminal.`)
  })
}

type New = CommandInput extends infer One
  ? One extends CommandInput
    ? Omit<One, 'commandId'>
    : never
  : never

/** Sends a command and returns the event that it recorded. */
async function recorded<Type extends EventType>(
  { client, id }: Work,
  type: Type,
  command: New,
): Promise<EventOf<Type>> {
  const { seq } = await client.command(id, command as Parameters<Client['command']>[1])
  const { events } = await client.call('events', { params: { id }, query: { after: seq - 1, limit: 1 } })
  const [event] = events
  if (event?.type === type) return event as EventOf<Type>
  throw new ParleyError('internal_error', `The command recorded no ${type}.`)
}

type DiscardOptions = Options & { readonly undo?: string }

/** Discards the changes of files since the last commit, or undoes a discard. */
export function discard(
  reference: string,
  paths: readonly string[],
  options: DiscardOptions,
  context: Context,
): Promise<number> {
  const { undo } = options
  if ((undo === undefined) === (paths.length === 0))
    throw new ParleyError(
      'validation_error',
      'Name the files whose changes are to be discarded, or undo a discard with --undo <number>.',
    )
  return inSession(reference, options, context, async (work) => {
    if (undo !== undefined) {
      const discarded = Number(undo)
      const event = await recorded(work, 'changes.restored', { type: 'changes.restore', discarded })
      return work.print(event, 'The discard was undone.')
    }
    const command = { type: 'changes.discard', base: 'HEAD', files: await filesOf(work, paths) } as const
    const event = await recorded(work, 'changes.discarded', command)
    const back = context.commandLine(`discard ${work.id} --undo ${event.seq}`)
    work.print(event, `Discarded the changes of ${paths.length} files. To undo this: ${back}`)
  })
}

type CommitOptions = Options & {
  readonly message?: string
  readonly suggest?: boolean
  readonly staged?: boolean
  readonly verify?: boolean
}

/** Commits changed files, or the staged changes. */
export function commit(
  reference: string,
  paths: readonly string[],
  options: CommitOptions,
  context: Context,
): Promise<number> {
  const { staged, verify } = options
  if (staged && paths.length > 0) throw new ParleyError('validation_error', 'Give either files or --staged.')
  return inSession(reference, options, context, async (work) => {
    const files = await filesOf(work, paths, staged ? 'staged' : undefined)
    if (options.suggest) return suggest(work, files, options, context)
    const message = options.message ?? (await messageFor(work, files))
    const fields = { message, files, ...(staged && { staged }), ...(verify === false && { verify }) }
    const event = await recorded(work, 'changes.committed', { type: 'changes.commit', ...fields })
    if (event.output !== undefined && !options.json) context.output.err(`${visible(event.output)}\n`)
    const where = event.branch === undefined ? '' : ` on ${event.branch}`
    work.print(event, `${event.commit.slice(0, 8)}${where}: ${event.message.split('\n', 1)[0]}`)
  })
}

/** Prints the suggested message, and commits nothing: a person must read the message before it is used. */
async function suggest(
  { client, id }: Work,
  files: readonly { path: string }[],
  { json }: Options,
  { output }: Context,
): Promise<void> {
  const body = { paths: files.map(({ path }) => path) }
  const suggested = await client.call('suggestMessage', { params: { id }, body, timeoutMs: suggestionMs })
  if (json) return output.out(`${JSON.stringify(suggested)}\n`)
  if (suggested.why !== undefined)
    output.err(`${oneLine(suggested.why)} This message was made from the title of the session.
`)
  output.out(`${visible(suggested.message)}
`)
}

async function messageFor({ client, id }: Work, files: readonly { path: string }[]): Promise<string> {
  const { title } = await client.call('getSession', { params: { id }, query: {} })
  return suggestedMessage(title, files)
}

/** Pushes the branch of a session's folder. */
export function push(
  reference: string,
  options: Options & { readonly replace?: boolean },
  context: Context,
): Promise<number> {
  return inSession(reference, options, context, async (work) => {
    const info: BranchInfo = await work.client.call('getBranch', { params: { id: work.id } })
    const { branch, commit: head } = info
    if (branch === undefined || head === undefined)
      throw new ParleyError('conflict', 'No branch with a commit is checked out, so nothing can be pushed.')
    const replaces = options.replace ? info.remote?.branch?.commit : undefined
    const command = { type: 'branch.push', branch, commit: head, ...defined({ replaces }) } as const
    const event = await recorded(work, 'branch.pushed', command)
    if (event.output !== undefined && !options.json) context.output.err(`${visible(event.output)}\n`)
    work.print(event, `${branch} (${head.slice(0, 8)}) is at ${event.remote}.`)
  })
}

type MergeOptions = Options & {
  readonly preview?: boolean
  readonly squash?: boolean
  readonly message?: string
}

/** Merges the branch of a session's folder into the base branch, or prints a preview of the merge. */
export function merge(reference: string, options: MergeOptions, context: Context): Promise<number> {
  return inSession(reference, options, context, async (work) => {
    const { client, id, print } = work
    const preview = await client.call('previewMerge', { params: { id }, timeoutMs: mergePreviewMs })
    if (options.preview) {
      if (options.json) return print(preview, '')
      for (const line of previewLines(preview)) context.output.out(`${oneLine(line)}\n`)
      return
    }
    const { branch, commit, into, refused, uncommittedCount } = preview
    if (refused || branch === undefined || commit === undefined || !into)
      throw new ParleyError(refused?.code ?? 'conflict', refused?.message ?? 'There is nothing to merge.', {
        details: { ...refused?.details },
      })
    const { squash, message = squash ? await squashText(work, preview.commits) : undefined } = options
    const event = await recorded(work, 'branch.merged', {
      ...{ type: 'branch.merge', branch, commit, into: into.branch, onto: into.commit },
      ...defined({ folder: into.folder, message }),
      ...(squash && { way: 'squash' }),
    })
    if (uncommittedCount > 0 && !options.json)
      context.output.err(`${uncommittedCount} changed files are not committed, and were not merged.\n`)
    print(event, mergeText(event))
  })
}

async function squashText({ client, id }: Work, commits: MergePreview['commits']): Promise<string> {
  const { title } = await client.call('getSession', { params: { id }, query: {} })
  return squashMessage(title, commits)
}

function previewLines(preview: MergePreview): string[] {
  const { refused, branch, into, commitCount, commits, files, fastForward, conflicts, blocked } = preview
  const { filesCut, uncommittedCount } = preview
  const count = filesCut ? `more than ${files.length}` : files.length
  const where = into?.folder === undefined ? '' : `, whose files in ${into.folder} change`
  return [
    ...(into && branch !== undefined
      ? [`${branch} into ${into.branch}${where}: ${commitCount} commits, ${count} files`]
      : []),
    ...commits.map(({ commit, subject }) => `  ${commit.slice(0, 8)} ${subject}`),
    ...files.map(({ path, added = 0, removed = 0 }) => `  +${added} -${removed} ${path}`),
    ...conflicts.map((path) => `  conflict: ${path}`),
    ...blocked.map((path) => `  in the way: ${path}`),
    ...(uncommittedCount > 0
      ? [`${uncommittedCount} changed files are not committed, and would not be merged.`]
      : []),
    refused?.message ?? (fastForward ? 'The merge is a fast-forward.' : 'The merge makes a merge commit.'),
  ]
}

type PullRequestOptions = Options & {
  readonly open?: boolean
  readonly logs?: boolean
  readonly title?: string
  readonly body?: string
  readonly draft?: boolean
}

/** Shows the pull request of a session's branch with its checks and comments, or opens a pull request. */
export function pullRequest(
  reference: string,
  options: PullRequestOptions,
  context: Context,
): Promise<number> {
  return inSession(reference, options, context, async (work) => {
    const { client, id, print } = work
    if (options.open) {
      const { body, draft } = options
      const title = options.title ?? (await client.call('getSession', { params: { id }, query: {} })).title
      const command = { type: 'pull-request.open', title, ...defined({ body, draft }) } as const
      const event = await recorded(work, 'pull-request.opened', command)
      return print(event, event.url)
    }
    if (options.logs) return showLogs(work, options, context)
    const found = await client.call('getPullRequest', { params: { id } })
    const { request, message, link } = found
    if (options.json || !request)
      return print(found, message ?? `There is no pull request. ${link ?? ''}`.trim())
    for (const line of linesOf(request)) context.output.out(`${oneLine(line)}\n`)
  })
}

async function showLogs({ client, id }: Work, { json }: Options, { output }: Context): Promise<void> {
  const found = await client.call('getCheckLogs', { params: { id }, timeoutMs: logsMs })
  if (json) return output.out(`${JSON.stringify(found)}\n`)
  if (found.logs.length === 0) return output.out('No check has failed.\n')
  for (const { name, text, cut, problem } of found.logs) {
    output.out(`${oneLine(name)}${cut ? ' (only the end)' : ''}\n`)
    for (const line of (problem ?? text).split('\n')) output.out(`  ${oneLine(line)}\n`)
  }
  if (found.more !== undefined) output.err(`${found.more} more failed.\n`)
}

function linesOf({ title, state, draft, url, checks, comments }: PullRequest): string[] {
  return [
    `${title} (${draft ? 'draft, ' : ''}${state})`,
    url,
    ...checks.map(({ name, result, text }) => `${result}  ${name}${text === undefined ? '' : `: ${text}`}`),
    ...comments.map(({ author, path, line, verdict, text }) => {
      const where = path === undefined ? '' : ` on ${path}${line === undefined ? '' : `:${line}`}`
      return `${author}${where}${verdict === undefined ? '' : ` (${verdict})`}: ${text}`
    }),
  ]
}
