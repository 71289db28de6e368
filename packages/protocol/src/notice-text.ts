import type { EventOf } from './event.ts'
import type { LeftPaths, LeftReason, RestoredFiles } from './rewind.ts'
import type { RecordedBy } from './turn.ts'
import type { KeptWorktree } from './worktree.ts'

/**
 * The sentence shown when a turn waits without a process. If another node recorded the event, an earlier notice with
 * `lossText` says why the process is gone.
 */
export function parkText({ reason, recordedBy }: EventOf<'turn.parked'>): string {
  return recordedBy ? continuation[recordedBy] : parkTexts[reason]
}

/**
 * This sentence is true whether the node was stopped, killed, paused or cut off. The node that records the loss cannot
 * know which of these happened.
 */
const lostNode = 'The node that ran this session stopped or was cut off'

const continuation: Readonly<Record<RecordedBy, string>> = {
  node: 'The turn continues when its requests are answered.',
  caretaker: 'The turn can continue when a node runs on its machine again.',
}

const parkTexts: Readonly<Record<EventOf<'turn.parked'>['reason'], string>> = {
  'server-stopped': 'The server was stopped; the turn still waits for an answer.',
  'server-killed': 'The server was restarted; the turn still waits for an answer.',
  'agent-lost': "The agent's process has ended; it is restarted when the request is answered.",
  'waited-long':
    "Nobody answered for a long time, so the agent's process was ended; it is restarted when the request is answered.",
}

/** The sentence shown when a shutdown of the server ends a turn; undefined if a person or a refused call ended it. */
export function interruptionText({ reason }: EventOf<'turn.interrupted'>): string | undefined {
  return reason && 'The server was stopped, and this turn with it.'
}

/** The sentence shown for a turn that no prompt started. */
export function causeText({ cause }: EventOf<'turn.started'>): string {
  if (cause?.title === undefined) return 'The agent continued by itself.'
  return `The agent continued by itself after the background task “${cause.title}”.`
}

export const releaseText =
  "The conversation was released to the agent's own program. Messages from there are added here before the next turn."

const takenBackText = 'The turns above were taken back: the agent does not remember them.'

/** The sentences shown for a rewind. */
export function rewoundText({ talk, files }: EventOf<'session.rewound'>): string {
  return [talk && takenBackText, files && filesText(files)].filter(Boolean).join(' ')
}

/** The sentences shown if undoing a rewind left files alone; undefined if it did not. */
export function unrewoundText({ files }: EventOf<'session.unrewound'>): string | undefined {
  return files?.left && `The rewind was undone. ${leftText(files.left)}`
}

function filesText({ count, left }: RestoredFiles): string {
  const restored =
    count === 0
      ? 'No file was restored.'
      : `${count} ${count === 1 ? 'file was' : 'files were'} restored to ${count === 1 ? 'its' : 'their'} state before the prompt.`
  return left ? `${restored} ${leftText(left)}` : restored
}

function leftText({ count, paths }: LeftPaths): string {
  const named = paths.map(({ path, reason }) => `${path} (${leftReasonTexts[reason]})`)
  const more = count - paths.length
  return `Left alone: ${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}.`
}

/** A short text for each reason why a path was left alone. */
export const leftReasonTexts: Readonly<Record<LeftReason, string>> = {
  'changed-since': 'changed by somebody else',
  unclear: 'perhaps not changed by the agent',
  'in-the-way': 'an ignored file is in the way',
  'not-stored': 'the content is not stored any more',
  repository: 'another repository',
  failed: 'could not be written',
}

export const restoredText = 'The worktree was restored.'

export function worktreeRemovalText({ branch, missing }: EventOf<'worktree.removed'>): string {
  if (missing) return 'The folder of the worktree is gone. Restore the worktree to continue.'
  return `The worktree was removed, and its branch was ${branch}. Restore the worktree to continue.`
}

/** The sentence shown if the worktree of an attempt that was passed over was not removed. */
export function worktreeKeptText({
  ignoredFiles = 0,
  loose = 0,
  leftOut = [],
  sessions = [],
  error,
}: KeptWorktree): string {
  if (error) return `The worktree was kept: ${error.message}`
  const reasons = [
    sessions.length > 0 && 'other sessions work in it',
    ignoredFiles > 0 && `it has ${ignoredFiles === 1 ? 'an ignored file' : `${ignoredFiles} ignored files`}`,
    loose > 0 && `it has ${loose === 1 ? 'a commit' : `${loose} commits`} on no branch`,
    leftOut.length > 0 && `snapshots leave out ${leftOut[0]?.path}${leftOut.length > 1 ? ' and others' : ''}`,
  ].filter((reason) => reason !== false)
  return `The worktree was kept: ${reasons.join(', ')}.`
}

export const pickedText = 'This attempt was picked.'
export const passedOverText = 'Another attempt of the round was picked.'

/** The result of a check in a few words. */
export function checkText({ exitCode, error }: Pick<EventOf<'check.ran'>, 'exitCode' | 'error'>): string {
  if (exitCode === 0) return 'The check passed.'
  if (exitCode !== undefined) return `The check failed with the exit code ${exitCode}.`
  return `The check did not end. ${error?.message ?? ''}`.trim()
}

export function worktreeFailureText({
  action,
  error,
}: Pick<EventOf<'worktree.failed'>, 'action' | 'error'>): string {
  const done = { make: 'made ready', remove: 'removed', restore: 'restored' }[action]
  return `The worktree could not be ${done}: ${error.message}`
}

/** The sentence shown when an agent's process has ended; undefined if the end needs no message. */
export function lossText({ reason, error, recordedBy }: EventOf<'agent.disconnected'>): string | undefined {
  const text = recordedBy ? `${lostNode}, and the agent's process with it.` : lossTexts[reason]
  return text && (error?.message ?? text)
}

const lossTexts: Readonly<Partial<Record<EventOf<'agent.disconnected'>['reason'], string>>> = {
  crashed: "The agent's process exited unexpectedly.",
  'failed-to-start': 'The agent could not be started.',
  'server-killed': "The server exited unexpectedly, and the agent's process with it.",
}

export function discardText({ files }: EventOf<'changes.discarded'>): string {
  const [file, ...others] = files
  if (!file || others.length > 0) return `The changes of ${files.length} files were discarded.`
  const { path, hunks } = file
  if (hunks === undefined) return `The changes of ${path} were discarded.`
  return `${hunks === 1 ? 'One change' : `${hunks} changes`} of ${path} ${hunks === 1 ? 'was' : 'were'} discarded.`
}

export function commitText({ commit, message }: EventOf<'changes.committed'>): string {
  return `Committed ${commit.slice(0, 8)}: ${message.trim().split('\n', 1)[0]}`
}

export function pushText({ branch, remote, commit, replaced }: EventOf<'branch.pushed'>): string {
  const what = `${branch} (${commit.slice(0, 8)}) to ${remote}`
  return replaced === undefined ? `Pushed ${what}.` : `Pushed ${what}, in place of ${replaced.slice(0, 8)}.`
}

export function mergeText({ branch, into, commit, way }: EventOf<'branch.merged'>): string {
  const how = { 'fast-forward': ', as a fast-forward', merge: '', squash: ', as one commit' }[way]
  return `Merged ${branch} into ${into}${how}. ${into} is at ${commit.slice(0, 8)} now.`
}

export function pullRequestText({ title, url }: EventOf<'pull-request.opened'>): string {
  return `Opened a pull request: ${title} (${url})`
}
