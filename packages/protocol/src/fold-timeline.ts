import type { Block, BlockOf } from './block.ts'
import { compactionText } from './compaction-text.ts'
import { defined } from './defined.ts'
import type { EventOf, EventType, SessionEvent } from './event.ts'
import { giveBack, takeBack } from './fold-taken-back.ts'
import {
  causeText,
  checkText,
  commitText,
  discardText,
  interruptionText,
  lossText,
  mergeText,
  parkText,
  passedOverText,
  pickedText,
  pullRequestText,
  pushText,
  releaseText,
  restoredText,
  rewoundText,
  unrewoundText,
  worktreeFailureText,
  worktreeKeptText,
  worktreeRemovalText,
} from './notice-text.ts'
import { unredacted } from './redaction.ts'

/**
 * Folds events into the timeline of blocks. Pure: copies the array once, however many events there are, and replaces
 * only the blocks that changed. The events may start anywhere in a log: events of blocks that started earlier are
 * ignored.
 */
export function applyToTimeline(timeline: readonly Block[], events: readonly SessionEvent[]): Block[] {
  const blocks = timeline.slice()
  for (const given of events) {
    const event = unredacted(given)
    folds.get(event.type)?.(blocks, event)
  }
  return blocks
}

/** True if this event changes the timeline. For other events, the timeline need not be copied. */
export function touchesTimeline(event: SessionEvent): boolean {
  return folds.has(unredacted(event).type)
}

type Folds = { readonly [Type in EventType]?: (blocks: Block[], event: EventOf<Type>) => void }

const promptFolds: Folds = {
  'prompt.submitted': (blocks, event) => {
    blocks.push({
      ...base(event, event.promptId),
      type: 'prompt',
      parts: event.parts,
      delivery: event.delivery,
      ...defined({ outside: event.outside, actor: event.actor }),
      // A steered prompt waits until the agent takes it up.
      status: event.turnId && event.delivery === 'steer' ? 'queued' : 'sent',
    })
  },
  'prompt.queued': (blocks, { promptId }) =>
    replace(blocks, promptId, 'prompt', ({ turnId, ...block }) => ({ ...block, status: 'queued' })),
  'prompt.taken': takenUp,
  'prompt.withdrawn': (blocks, { promptId }) =>
    replace(blocks, promptId, 'prompt', (block) => ({ ...block, status: 'withdrawn' })),
}

const turnFolds: Folds = {
  'turn.started': (blocks, event) => {
    if (event.promptId === undefined) return notice(blocks, event, 'info', 'agent_turn', causeText(event))
    return replace(blocks, event.promptId, 'prompt', (block) => ({
      ...block,
      delivery: 'queue',
      status: 'sent',
      ...(event.turnId && { turnId: event.turnId }),
    }))
  },
  'turn.ended': (blocks, event) => {
    const { seq, at, sessionId, salt, turnId, actor, type, version, ...end } = event
    leaveSteers(blocks, turnId)
    blocks.push({ ...base(event, `end:${turnId}`), type: 'turn-end', end })
  },
  'turn.interrupted': (blocks, event) => {
    const text = interruptionText(event)
    if (text !== undefined) notice(blocks, event, 'info', 'server_stopped', text)
  },
  'turn.parked': (blocks, event) => {
    // A caretaker's record needs no notice: a client that shows the session also shows that the session waits for its
    // machine.
    if (event.recordedBy !== 'caretaker') notice(blocks, event, 'info', 'turn_parked', parkText(event))
  },
}

const blockFolds: Folds = {
  'text.written': (blocks, event) => written(blocks, event, 'text'),
  'thinking.written': (blocks, event) => written(blocks, event, 'thinking'),
  'block.retracted': (blocks, { blockId }) => {
    const index = indexOf(blocks, blockId)
    if (index >= 0) blocks.splice(index, 1)
  },
  'tool-call.called': (blocks, event) => {
    blocks.push({
      ...base(event, event.toolCallId),
      type: 'tool-call',
      name: event.name,
      kind: event.kind,
      title: event.title,
      input: event.input,
      ...(event.locations && { locations: event.locations }),
      status: 'running',
      content: [],
      ...(event.inferred && { inferred: true }),
      ...parentOf(event),
    })
  },
  'tool-call.updated': (blocks, { toolCallId, title, kind, input, locations, content }) =>
    replace(blocks, toolCallId, 'tool-call', (block) => ({
      ...block,
      ...defined({ title, kind, input, locations, content }),
    })),
  'tool-call.ended': (blocks, { toolCallId, outcome, content, at, seq }) =>
    replace(blocks, toolCallId, 'tool-call', (block) => ({
      ...block,
      status: outcome,
      content,
      endedAt: at,
      endedSeq: seq,
    })),
}

const requestFolds: Folds = {
  'permission.requested': (blocks, event) => {
    const { seq, at, sessionId, salt, turnId, actor, type, version, ...request } = event
    blocks.push({ ...base(event, event.requestId), type: 'permission', request })
  },
  'question.asked': (blocks, event) => {
    const { seq, at, sessionId, salt, turnId, actor, type, version, ...request } = event
    blocks.push({ ...base(event, event.requestId), type: 'question', request })
  },
  'permission.resolved': (blocks, event) => {
    const { seq, at, sessionId, salt, turnId, actor, type, version, ...resolution } = event
    replace(blocks, event.requestId, 'permission', (block) => ({ ...block, resolution, ...settled(event) }))
  },
  'question.resolved': (blocks, event) => {
    const { seq, at, sessionId, salt, turnId, actor, type, version, ...resolution } = event
    replace(blocks, event.requestId, 'question', (block) => ({ ...block, resolution, ...settled(event) }))
  },
}

const settled = ({ at, actor, seq }: SessionEvent) => ({
  resolvedAt: at,
  resolvedSeq: seq,
  ...defined({ resolvedBy: actor }),
})

const noticeFolds: Folds = {
  'agent.noticed': (blocks, event) => notice(blocks, event, event.level, event.code, event.text),
  'agent.disconnected': disconnected,
  'agent.unrecognised': (blocks, event) => {
    blocks.push({ ...base(event, `event:${event.seq}`), type: 'unrecognised', native: event.native })
  },
  'context.compacted': (blocks, event) =>
    notice(blocks, event, 'info', 'context_compacted', compactionText(event)),
  'session.released': (blocks, event) => notice(blocks, event, 'info', 'session_released', releaseText),
  'session.rewound': (blocks, event) => {
    takeBack(blocks, event)
    if (event.talk || event.files) notice(blocks, event, 'info', 'session_rewound', rewoundText(event))
  },
  'session.unrewound': (blocks, event) => {
    giveBack(blocks, event)
    const text = unrewoundText(event)
    if (text !== undefined) notice(blocks, event, 'info', 'session_unrewound', text)
  },
  'restore.failed': (blocks, event) =>
    notice(blocks, event, 'error', 'restore_failed', `No file was restored. ${event.error.message}`),
  'session.forked': (blocks, event) =>
    notice(blocks, event, 'info', 'session_forked', `Forked into ${event.into}.`),
  'changes.discarded': (blocks, event) =>
    notice(blocks, event, 'info', 'changes_discarded', discardText(event)),
  'changes.restored': (blocks, { discarded }) => {
    const index = indexOf(blocks, `event:${discarded}`)
    if (index >= 0) blocks.splice(index, 1)
  },
  'changes.committed': (blocks, event) =>
    notice(blocks, event, 'info', 'changes_committed', commitText(event)),
  'branch.pushed': (blocks, event) => notice(blocks, event, 'info', 'branch_pushed', pushText(event)),
  'branch.merged': (blocks, event) => notice(blocks, event, 'info', 'branch_merged', mergeText(event)),
  'pull-request.opened': (blocks, event) =>
    notice(blocks, event, 'info', 'pull_request_opened', pullRequestText(event)),
  'session.handed-over': (blocks, event) => {
    const text = `Handed over to ${event.agent}.`
    const leadsTo = { sessionId: event.into, agent: event.agent }
    notice(blocks, { ...event, leadsTo }, 'info', 'session_handed_over', text)
  },
}

const worktreeFolds: Folds = {
  'worktree.made': (blocks, event) => {
    if (event.restored) notice(blocks, event, 'info', 'worktree_restored', restoredText)
  },
  'worktree.failed': (blocks, event) =>
    notice(blocks, event, 'error', 'worktree_failed', worktreeFailureText(event)),
  'worktree.removed': (blocks, event) =>
    notice(blocks, event, 'info', 'worktree_removed', worktreeRemovalText(event)),
  'worktree.kept': (blocks, event) => notice(blocks, event, 'info', 'worktree_kept', worktreeKeptText(event)),
}

const roundFolds: Folds = {
  'check.ran': (blocks, event) =>
    notice(blocks, event, event.exitCode === 0 ? 'info' : 'warning', 'check_ran', checkText(event)),
  'attempt.picked': (blocks, event) => notice(blocks, event, 'info', 'attempt_picked', pickedText),
  'attempt.passed-over': (blocks, event) =>
    notice(blocks, event, 'info', 'attempt_passed_over', passedOverText),
}

type Fold = (blocks: Block[], event: SessionEvent) => void

const folds = new Map(
  [promptFolds, turnFolds, blockFolds, requestFolds, noticeFolds, worktreeFolds, roundFolds].flatMap(
    (table) => Object.entries(table) as [string, Fold][],
  ),
)

function written(
  blocks: Block[],
  event: EventOf<'text.written'> | EventOf<'thinking.written'>,
  type: 'text' | 'thinking',
): void {
  blocks.push({
    ...base(event, event.blockId),
    type,
    text: event.text,
    ...(event.interrupted && { interrupted: true }),
    ...parentOf(event),
  })
}

/** Moves a steered prompt to where the agent took it up, below the earlier output of the turn. */
function takenUp(blocks: Block[], event: EventOf<'prompt.taken'>): void {
  const index = indexOf(blocks, event.promptId)
  const block = blocks[index]
  if (block?.type !== 'prompt') return
  blocks.splice(index, 1)
  const { seq, turnId = block.turnId } = event
  const submittedSeq = block.submittedSeq ?? block.seq
  blocks.push({ ...block, seq, submittedSeq, status: 'sent', ...(turnId && { turnId }) })
}

/**
 * Marks the steered prompts of a turn as sent when the turn ends. Older logs have no `prompt.taken`, and a
 * lost turn does not record whether the agent took a prompt up.
 */
function leaveSteers(blocks: Block[], turnId: string | undefined): void {
  for (let index = blocks.length - 1; index >= 0; index--) {
    const block = blocks[index]!
    if (block.type === 'turn-end') return
    if (block.type !== 'prompt' || block.turnId !== turnId) continue
    if (block.status === 'queued' && block.delivery === 'steer') blocks[index] = { ...block, status: 'sent' }
  }
}

function disconnected(blocks: Block[], event: EventOf<'agent.disconnected'>): void {
  const text = lossText(event)
  // If the server was killed, the notice is not an error: a running turn reports the loss itself, and an idle session
  // has lost nothing.
  const level = event.reason === 'server-killed' ? 'info' : 'error'
  if (text !== undefined) notice(blocks, event, level, 'agent_disconnected', text)
}

function notice(
  blocks: Block[],
  event: SessionEvent & {
    parentToolCallId?: string | undefined
    error?: unknown
    leadsTo?: BlockOf<'notice'>['leadsTo']
  },
  level: 'info' | 'warning' | 'error',
  code: string,
  text: string,
): void {
  const error = event.type === 'agent.disconnected' ? event.error : undefined
  blocks.push({
    ...base(event, `event:${event.seq}`),
    type: 'notice',
    level,
    code,
    text,
    ...(error && { error }),
    ...defined({ leadsTo: event.leadsTo }),
    ...parentOf(event),
  })
}

function base(event: SessionEvent, id: string) {
  return { id, seq: event.seq, at: event.at, ...(event.turnId && { turnId: event.turnId }) }
}

function parentOf(event: { parentToolCallId?: string | undefined }) {
  return event.parentToolCallId ? { parentToolCallId: event.parentToolCallId } : {}
}

/** Searches from the end: the block that changes is nearly always a recent one. */
function indexOf(blocks: readonly Block[], id: string): number {
  let index = blocks.length - 1
  while (index >= 0 && blocks[index]!.id !== id) index--
  return index
}

function replace<Type extends Block['type']>(
  blocks: Block[],
  id: string,
  type: Type,
  change: (block: Extract<Block, { type: Type }>) => Block,
): void {
  const index = indexOf(blocks, id)
  const block = blocks[index]
  if (block?.type === type) blocks[index] = change(block as Extract<Block, { type: Type }>)
}
