import {
  checkText,
  commitText,
  discardText,
  type EventOf,
  interruptionText,
  lossText,
  mergeText,
  parkText,
  passedOverText,
  pickedText,
  pullRequestText,
  pushText,
  restoredText,
  type SessionEvent,
  worktreeFailureText,
  worktreeKeptText,
  worktreeRemovalText,
} from '@parley/protocol'
import { type AskedFacts, noticeRow, planRows, promptRow, resolutionRow, turnEndRow } from './rows.ts'
import type { Style } from './style.ts'
import { oneLine, visible } from './visible.ts'

/** The data, besides the event itself, from which its rows are made. */
export type RowFacts = {
  readonly style: Style
  /** Whether prompts are shown too: prompts of this client and of others. */
  readonly prompts: boolean
  readonly asked: (requestId: string) => AskedFacts
  /** The time that requests waited for people during the turn that ends, in milliseconds. */
  readonly waited: number
  /** Whether this error message was already shown in this turn. */
  readonly wasShown: (words: string) => boolean
}

/** The rows of every event that is neither text nor a tool call. Pure. */
export function eventRows(event: SessionEvent, facts: RowFacts): string[] {
  const { style } = facts
  switch (event.type) {
    case 'prompt.submitted':
      return facts.prompts ? [promptRow(event.parts, style)] : []
    case 'prompt.queued':
      return [
        event.paused
          ? style.yellow('paused: the agent was lost before it took up this prompt')
          : style.dim('queued: another turn runs first'),
      ]
    case 'prompt.withdrawn':
      return [style.yellow('the prompt was withdrawn')]
    case 'queue.paused':
      return [style.yellow('the queue is paused')]
    case 'queue.resumed':
      return [style.dim('the queue was resumed')]
    case 'permission.resolved':
    case 'question.resolved':
      // With `carriedFrom`, the agent asked again after a restart and got the carried answer, which was shown before.
      return event.carriedFrom ? [] : [resolutionRow(event, facts.asked(event.requestId), style)]
    case 'block.retracted':
      return [
        style.yellow(
          `the agent retracted its last message${event.reason ? `: ${oneLine(event.reason)}` : ''}`,
        ),
      ]
    case 'plan.updated':
      return planRows(event.entries, style)
    case 'agent.noticed':
      return [noticeRow(event, style)]
    case 'context.compacted':
      return [style.dim('the agent compacted its context')]
    case 'turn.interrupted':
      return [style.yellow(interruptionText(event) ?? 'stopping the turn…')]
    case 'turn.parked':
      return [style.yellow(parkText(event))]
    case 'turn.resumed':
      return [style.dim('the agent was restarted and continues')]
    case 'turn.ended':
      return [turnEndRow(event, { style, waited: facts.waited, saysWhy: !wasErrorShown(event, facts) })]
    case 'session.renamed':
      return [style.dim(`title: ${oneLine(event.title)}`)]
    case 'agent.disconnected':
      return disconnectedRows(event, facts)
    case 'worktree.made':
    case 'worktree.prepared':
    case 'worktree.failed':
    case 'worktree.removed':
      return worktreeRows(event, style)
    case 'changes.discarded':
    case 'changes.restored':
    case 'changes.committed':
    case 'branch.pushed':
    case 'branch.merged':
    case 'pull-request.opened':
      return [style.dim(oneLine(folderText(event)))]
    case 'agent.unrecognised':
      return [style.dim('the agent sent an unrecognised message; it is kept in the log')]
    default:
      return roundRows(event, style)
  }
}

type FolderEvent = EventOf<
  | 'changes.discarded'
  | 'changes.restored'
  | 'changes.committed'
  | 'branch.pushed'
  | 'branch.merged'
  | 'pull-request.opened'
>

/** The effect of a person's command on the folder, as text. */
function folderText(event: FolderEvent): string {
  switch (event.type) {
    case 'changes.discarded':
      return discardText(event)
    case 'changes.restored':
      return 'the discard was undone'
    case 'changes.committed':
      return commitText(event)
    case 'branch.pushed':
      return pushText(event)
    case 'branch.merged':
      return mergeText(event)
    case 'pull-request.opened':
      return pullRequestText(event)
  }
}

type WorktreeEvent = EventOf<'worktree.made' | 'worktree.prepared' | 'worktree.failed' | 'worktree.removed'>

function worktreeRows(event: WorktreeEvent, style: Style): string[] {
  switch (event.type) {
    case 'worktree.made':
      return [style.dim(event.restored ? restoredText : 'the worktree was made')]
    case 'worktree.prepared':
      return event.setup ? [style.dim(`prepared: ${oneLine(event.setup.command)}`)] : []
    case 'worktree.removed':
      return [style.dim(worktreeRemovalText(event))]
    case 'worktree.failed': {
      const tail = event.setup?.tail.trim().split('\n').slice(-5) ?? []
      const text = worktreeFailureText(event)
      return [
        noticeRow({ level: 'error', text }, style),
        ...tail.map((line) => style.dim(`    ${visible(line)}`)),
      ]
    }
  }
}

/** The rows of events about checks and the attempts of a round. */
function roundRows(event: SessionEvent, style: Style): string[] {
  switch (event.type) {
    case 'worktree.kept':
      return [style.dim(oneLine(worktreeKeptText(event)))]
    case 'check.started':
      return [style.dim(`check: ${oneLine(event.command)}`)]
    case 'check.ran': {
      const level = event.exitCode === 0 ? ('info' as const) : ('warning' as const)
      return [noticeRow({ level, text: checkText(event) }, style)]
    }
    case 'attempt.picked':
      return [style.dim(pickedText)]
    case 'attempt.passed-over':
      return [style.dim(passedOverText)]
    default:
      return []
  }
}

function wasErrorShown({ error }: EventOf<'turn.ended'>, { wasShown }: RowFacts): boolean {
  return error !== undefined && wasShown(error.message)
}

/** The rows for the loss of an agent. As in `show`, it is not an error if the server was killed. */
function disconnectedRows(event: EventOf<'agent.disconnected'>, { style, wasShown }: RowFacts): string[] {
  const text = lossText(event)
  const level = event.reason === 'server-killed' ? 'info' : 'error'
  if (text === undefined || wasShown(text)) return []
  const last = event.stderrTail ?? event.error?.details?.stderrTail
  const tail = typeof last === 'string' ? last.trim().split('\n').filter(Boolean).slice(-5) : []
  return [noticeRow({ level, text }, style), ...tail.map((line) => style.dim(`    ${visible(line)}`))]
}
