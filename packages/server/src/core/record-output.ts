import type { AgentOutput } from '@parley/adapter-kit'
import {
  backgroundTaskOf,
  type Delta,
  type DeltaDraft,
  type DraftOf,
  deltaTypes,
  draftProblem,
  type EventDraft,
  type KnownTask,
  type OpenBlock,
  type SessionState,
  validationError,
} from '@parley/protocol'
import type { Ids } from './clock.ts'
import { ClosedCalls } from './closed-calls.ts'
import { endTurn, invalidEnd } from './end-turn.ts'
import { closeTask } from './task-transactions.ts'
import {
  type CallDraft,
  emptyOrder,
  flushHeld,
  inOrder,
  keepRepeated,
  type Step,
  type ToolOrder,
} from './tool-order.ts'

/** The progress of a turn, or of work outside turns, that is not in the state. */
export type TurnProgress = {
  readonly order: ToolOrder
  readonly written: Set<string>
  readonly closed: ClosedCalls
  /**
   * The latest result of each call that already had a result. Normally the agent only repeats the old result. But it
   * may also reuse the id for a new call, and report the result before that call. The two cases cannot be
   * distinguished: if the agent repeats an old result and then reuses the id, the new call ends with the old result,
   * and its own result is recorded as unrecognised.
   */
  readonly repeated: Map<string, DraftOf<'tool-call.ended'>>
  /** The last text that the main agent wrote. */
  lastText?: string
}

export function freshProgress(closed = new ClosedCalls()): TurnProgress {
  return { order: emptyOrder(), written: new Set(), closed, repeated: new Map() }
}

/** The progress after the start or the end of a turn. Calls that a background task continues become calls outside turns. */
export function progressAfter(
  { order, closed }: TurnProgress,
  state: SessionState,
  turnless: TurnProgress,
): TurnProgress {
  for (const [id, title] of order.called)
    if (openBlock(state, id)) turnless.order.called.set(id, title)
    else closed.close(id, order.ended.has(id) ? undefined : title)
  if (state.turn) turnless.repeated.clear()
  return freshProgress(closed)
}

/**
 * If the output belongs to a call outside turns whose block is no longer open, adds that call to `closed`. The title
 * is kept only if the agent has not reported a result.
 */
export function closeCall({ order, closed }: TurnProgress, state: SessionState, output: AgentOutput): void {
  const id = blockIdOf(output) ?? ''
  if (!order.called.has(id) || closed.has(id) || openBlock(state, id)) return
  closed.close(id, order.ended.has(id) ? undefined : order.called.get(id))
}

export type RecordedOutput = Exclude<
  AgentOutput,
  DeltaDraft | { type: 'native' | 'turn.started' | 'prompt.taken' }
>

export function isDelta(output: AgentOutput): output is DeltaDraft {
  return deltaTypes.has(output.type)
}

/**
 * True for output that belongs to no turn: it comes from a background task, from a subagent that outlives its turn,
 * or continues a block that was started outside a turn.
 */
export function belongsToNoTurn(output: AgentOutput, state: SessionState): boolean {
  if (output.type === 'turn.ended') return false
  const { parentToolCallId } = output as { parentToolCallId?: string }
  const open = openBlock(state, blockIdOf(output) ?? '')
  if (open) return open.turnId === undefined || backgroundTaskOf(state, open) !== undefined
  if (parentToolCallId === undefined) return false
  return (
    !state.turn ||
    state.turn.parked !== undefined ||
    backgroundTaskOf(state, { parentToolCallId }) !== undefined
  )
}

/**
 * True if the main agent produces output while no turn is open: it has started a turn by itself. A call that is only
 * inferred, from an update or a result, starts no turn: it belongs to an earlier turn, and its end may never be
 * reported.
 */
export function beginsOwnTurn(output: AgentOutput, state: SessionState): boolean {
  if (output.type === 'tool-call.called' && output.inferred) return false
  return !state.turn && !belongsToNoTurn(output, state) && ownTurnPattern.test(output.type)
}

const ownTurnPattern = /^((text|thinking)\.(written|streamed)|tool-call\.(called|drafted))$/

function blockIdOf(output: AgentOutput): string | undefined {
  const { blockId, toolCallId } = output as { blockId?: string; toolCallId?: string }
  return blockId ?? toolCallId
}

/**
 * An agent's output as drafts. Output that cannot be placed (outside a turn, repeated, or of a wrong shape) is kept
 * as `agent.unrecognised` with the reason. Output about a call that the host has ended is handled by `lateStep`.
 */
export function draftsOf(
  output: RecordedOutput,
  state: SessionState,
  progress: TurnProgress,
  context: { now: number; connectionId: string; ids: Ids },
): Step {
  const draft = marked(completed(output, context), state)
  const problem = draftProblem(draft)
  const { turn } = state
  if (problem) {
    const kept = unrecognised(output, validationError('An output of the adapter', problem).message)
    return output.type === 'turn.ended'
      ? { ...kept, drafts: [...kept.drafts, ...endTurn(state, invalidEnd, context.now)] }
      : kept
  }
  const turnless = belongsToNoTurn(output, state)
  const drafts = (list: EventDraft[]) =>
    turn && !turnless ? list.map((one) => ({ ...one, turnId: turn.turnId })) : list
  const late = lateStep(draft, state, progress)
  if (late) return { ...late, drafts: drafts(late.drafts) }
  if (needsTurn(output.type) && !turnless && (!turn || turn.parked))
    return outsideTurns(output, draft, progress)

  switch (draft.type) {
    case 'tool-call.called':
    case 'tool-call.updated':
    case 'tool-call.ended': {
      const step = callStep(draft, state, progress, turnless)
      if (!step) return unrecognised(output, 'comes after the end of its call')
      return { ...step, drafts: drafts(step.drafts) }
    }
    case 'text.written':
    case 'thinking.written':
      if (progress.written.has(draft.blockId)) return unrecognised(output, 'a block that was already written')
      return { drafts: drafts([draft]), commit: () => noteWritten(progress, draft) }
    case 'block.retracted':
      return {
        drafts: drafts([...endRetracted(state, draft.blockId), draft]),
        commit: () => retract(progress, draft.blockId),
      }
    case 'turn.ended': {
      const { type, durationMs, ...end } = draft
      const outcome = turn?.interrupted && end.outcome === 'failed' ? 'cancelled' : end.outcome
      const ended = endTurn(
        state,
        { ...storedOnce(end, progress), outcome },
        context.now,
        flushHeld(progress.order, progress.closed.hasForgotten),
      )
      const next = turn?.interrupted ? [] : startSteered(ended, context.ids)
      return { drafts: [...ended, ...next], commit: noCommit }
    }
    case 'task.updated': {
      const text = 'The task ended before this call had a result.'
      const known = state.tasks.find(({ taskId }) => taskId === draft.taskId)
      // A resumed agent may report that the process of a parked task has ended. The log has that already, and the
      // task stays parked.
      if (known?.parked && draft.status !== 'running') return { drafts: [], commit: noCommit }
      const closed = draft.status === 'running' ? [] : closeTask(state, draft, text)
      return {
        drafts: [...closed, ...drafts([known ? withRecordedEnd(draft, known) : draft])],
        commit: noCommit,
      }
    }
    case 'agent.connected':
      return { drafts: [draft], commit: noCommit }
    default:
      return { drafts: drafts([draft]), commit: noCommit }
  }
}

/** Output that belongs to no turn and no task. If it is a call, its result becomes a notice, even in a later turn. */
function outsideTurns(output: RecordedOutput, draft: EventDraft, { closed }: TurnProgress): Step {
  const kept = unrecognised(output, 'outside a turn')
  if (draft.type !== 'tool-call.called') return kept
  return { ...kept, commit: () => closed.close(draft.toolCallId, draft.title) }
}

/** Puts a draft about a tool call in the order of its turn or task. Undefined for a stray draft outside turns. */
function callStep(
  draft: CallDraft,
  state: SessionState,
  progress: TurnProgress,
  turnless: boolean,
): Step | undefined {
  const { order, closed, repeated } = progress
  const { toolCallId } = draft
  const open = openBlock(state, toolCallId)
  // The call was made in a turn, and its task now runs in the background. Its draft is put into the order of the
  // task, which does not contain the call yet.
  if (open?.type === 'tool-call' && open.called && !order.called.has(open.id))
    order.called.set(open.id, open.title ?? '')
  if (turnless && isStray(draft, state, progress)) return undefined
  const step = inOrder(order, draft)
  if (draft.type !== 'tool-call.called') return step
  const result = order.called.has(toolCallId) ? undefined : repeated.get(toolCallId)
  return {
    drafts: result ? [...step.drafts, result] : step.drafts,
    commit() {
      step.commit()
      closed.reopen(toolCallId)
      if (result) order.ended.add(toolCallId)
      repeated.delete(toolCallId)
    },
  }
}

/**
 * Keeps the recorded title and reason of a task that has ended: a resumed agent may report the end again,
 * with another text.
 */
function withRecordedEnd(draft: DraftOf<'task.updated'>, known: KnownTask): DraftOf<'task.updated'> {
  if (known.status === 'running' || draft.status === 'running') return draft
  const { title, reason, background } = known
  if (reason === undefined || known.status !== draft.status) return { ...draft, title }
  return { ...draft, title, reason, ...(background !== undefined && { background }) }
}

/**
 * Handles a draft about a call that has ended with its turn or its task: the first result becomes a notice, and the
 * rest is dropped, unless the agent makes another call under the same id (see `repeated`). Undefined for any other
 * draft.
 */
function lateStep(draft: EventDraft, state: SessionState, progress: TurnProgress): Step | undefined {
  if (draft.type !== 'tool-call.updated' && draft.type !== 'tool-call.ended') return undefined
  const { toolCallId, parentToolCallId } = draft
  const { order, closed } = progress
  if (openBlock(state, toolCallId) || !isClosed(toolCallId, progress)) return undefined
  const title = closed.has(toolCallId) ? closed.title(toolCallId) : order.called.get(toolCallId)
  if (draft.type === 'tool-call.updated') return { drafts: [], commit: noCommit }
  if (title === undefined) return { drafts: [], commit: () => keepRepeated(progress.repeated, draft) }
  const { outcome, content } = draft
  const notice: EventDraft = {
    type: 'agent.noticed',
    level: 'info',
    code: 'late-result',
    text: `${title}: ${outcome}`,
    data: { toolCallId, outcome, content },
    ...(parentToolCallId && { parentToolCallId }),
  }
  return {
    drafts: [notice],
    commit() {
      if (order.called.has(toolCallId)) order.ended.add(toolCallId)
      closed.close(toolCallId, undefined)
    },
  }
}

/**
 * For a call that is not open in the state: true if its turn or task is over, or if the host has ended it because the
 * agent did not report its end.
 */
function isClosed(toolCallId: string, { order, closed }: TurnProgress): boolean {
  return closed.has(toolCallId) || (order.called.has(toolCallId) && !order.ended.has(toolCallId))
}

/** True for a draft about an unknown call that belongs to no turn and no task. Such a call will never be reported. */
function isStray(
  draft: EventDraft & { toolCallId: string },
  state: SessionState,
  { order }: TurnProgress,
): boolean {
  const isNew = draft.type === 'tool-call.called' || order.called.has(draft.toolCallId)
  return !isNew && backgroundTaskOf(state, draft as { parentToolCallId?: string }) === undefined
}

function noteWritten(
  progress: TurnProgress,
  draft: DraftOf<'text.written'> | DraftOf<'thinking.written'>,
): void {
  progress.written.add(draft.blockId)
  if (draft.type === 'text.written' && draft.parentToolCallId === undefined) progress.lastText = draft.text
}

/**
 * Removes the result of a turn that only repeats the agent's last text, as some agents do: the text is in the
 * log already.
 */
function storedOnce<End extends { result?: string | undefined }>(end: End, { lastText }: TurnProgress): End {
  if (end.result === undefined || end.result.trim() !== lastText?.trim()) return end
  const { result, ...rest } = end
  return rest as End
}

/**
 * Starts the next turn with a steered prompt that the ended turn did not take up. The turn starts at once, because
 * the agent may have the prompt already.
 */
function startSteered(ended: readonly EventDraft[], ids: Ids): EventDraft[] {
  const left = ended.find((draft) => draft.type === 'prompt.queued')
  if (!left || left.paused) return []
  return [{ type: 'turn.started', turnId: ids('trn'), promptId: left.promptId, cause: { by: 'steer' } }]
}

const noCommit = () => undefined

function completed(output: RecordedOutput, context: { connectionId: string }): EventDraft {
  if (output.type === 'agent.connected') return { ...output, connectionId: context.connectionId }
  if (output.type === 'turn.ended') return { ...output, durationMs: 0 }
  return output as EventDraft
}

/** Marks a cost as notional if the agent is used with a subscription. */
function marked(draft: EventDraft, { connection }: SessionState): EventDraft {
  if (connection?.billing !== 'subscription') return draft
  if (draft.type !== 'turn.ended' && draft.type !== 'usage.measured') return draft
  return draft.costUsd === undefined ? draft : { ...draft, notionalCost: true }
}

function needsTurn(type: string): boolean {
  return /^(text|thinking|block|tool-call|turn)\./.test(type)
}

function unrecognised(native: AgentOutput, reason: string): Step {
  return { drafts: [{ type: 'agent.unrecognised', native, reason }], commit: noCommit }
}

/** Marks a block as written, called and ended, so that nothing more of it is recorded. */
function retract({ written, order }: TurnProgress, blockId: string): void {
  written.add(blockId)
  order.called.set(blockId, '')
  order.ended.add(blockId)
}

function endRetracted(state: SessionState, blockId: string): EventDraft[] {
  const open = state.openBlocks.find((block) => block.id === blockId)
  if (open?.type !== 'tool-call' || !open.called) return []
  return [
    { type: 'tool-call.ended', toolCallId: blockId, outcome: 'cancelled', content: [], ...parentOf(open) },
  ]
}

/** A delta with its turn and its offset; undefined if it arrives too late. */
export function deltaOf(draft: DeltaDraft, state: SessionState, progress: TurnProgress): Delta | undefined {
  const { turn } = state
  const turnless = belongsToNoTurn(draft, state)
  if (!turnless && (!turn || turn.parked)) return undefined
  const place = turn && !turnless ? { turnId: turn.turnId } : {}
  switch (draft.type) {
    case 'text.streamed':
    case 'thinking.streamed': {
      if (progress.written.has(draft.blockId)) return undefined
      const open = openBlock(state, draft.blockId)
      return { ...draft, ...place, offset: open && open.type !== 'tool-call' ? open.text.length : 0 }
    }
    case 'tool-call.input-streamed':
    case 'tool-call.output-streamed': {
      const open = openBlock(state, draft.toolCallId)
      if (progress.order.ended.has(draft.toolCallId)) return undefined
      if (!open && isClosed(draft.toolCallId, progress)) return undefined
      const field = draft.type === 'tool-call.input-streamed' ? 'input' : 'output'
      if (field === 'input' && open?.type === 'tool-call' && open.called) return undefined
      return { ...draft, ...place, offset: open?.type === 'tool-call' ? open[field].length : 0 }
    }
    case 'tool-call.drafted':
      return progress.order.called.has(draft.toolCallId) ? undefined : { ...draft, ...place }
    case 'activity.changed':
      return { ...draft, ...place }
  }
}

function openBlock(state: SessionState, id: string): OpenBlock | undefined {
  for (let index = state.openBlocks.length - 1; index >= 0; index--) {
    if (state.openBlocks[index]!.id === id) return state.openBlocks[index]
  }
  return undefined
}

function parentOf({ parentToolCallId }: OpenBlock) {
  return parentToolCallId ? { parentToolCallId } : {}
}
