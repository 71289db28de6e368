import {
  type Command,
  type CommandOf,
  type DraftOf,
  defined,
  dueRestore,
  type EventDraft,
  isInBackground,
  ParleyError,
  type PromptPart,
  pausedPrompts,
  runningInBackground,
  type SessionOptions,
  type SessionSettings,
  type SessionState,
} from '@parley/protocol'
import { answerQuestion, decidePermission } from './decide-answer.ts'
import { expectNoRestore, rewind, unrewind } from './decide-rewind.ts'
import { decideRound } from './decide-round.ts'
import { decideWorktree, expectFolder, waitsForWorktree } from './decide-worktree.ts'
import { checkSettings, type DecideContext, type Decision, need, refuseIf } from './decision.ts'
import { cancelRequests, endTurn, requestsOfTurn } from './end-turn.ts'
import { hashOf, sessionIdFrom } from './hash.ts'
import { checkMcpServers } from './host-tool.ts'
import { resolvedServers } from './shown-secrets.ts'
import { closeTask, stopped } from './task-transactions.ts'
import { nextPrompt, pauseQueued } from './turn-transactions.ts'

/** Returns the drafts that a command records in this state, or throws a refusal (ParleyError). Pure. */
export function decide(state: SessionState, command: Command, context: DecideContext): Decision {
  switch (command.type) {
    case 'prompt.submit':
      return submit(state, { ...command, parts: partsOf(command) }, context)
    case 'prompt.withdraw':
      return withdraw(state, command)
    case 'prompt.move':
      return move(state, command)
    case 'turn.cancel':
      return cancel(state, command, context)
    case 'queue.resume':
      return { drafts: pausedPrompts(state) > 0 ? [{ type: 'queue.resumed' }] : [] }
    case 'task.stop':
      return stopTask(state, command, context)
    case 'permission.decide':
      return decidePermission(state, command, context)
    case 'question.answer':
      return answerQuestion(state, command)
    case 'session.configure':
      return configure(state, command, context)
    case 'session.close':
      expectNoTurn(state, 'Cancel it (turn.cancel), then close the session.')
      return { drafts: [] }
    case 'session.release':
      need(context, 'resume')
      expectNoTurn(state, 'Wait until it ends or cancel it (turn.cancel), then release the conversation.')
      return { drafts: state.released === undefined ? [{ type: 'session.released' }] : [] }
    case 'session.compact':
      need(context, 'compaction')
      expectNoTurn(state, 'Wait until it ends, then compact.')
      return submit(state, { parts: [{ type: 'command', name: 'compact' }], delivery: 'queue' }, context)
    case 'session.rewind':
      expectNoTurn(state, 'Wait until it ends, then rewind.')
      return rewind(state, command, context)
    case 'session.unrewind':
      expectNoTurn(state, 'A rewind can be undone only before the next prompt.')
      return unrewind(state)
    case 'session.fork':
      return fork(state, command, context)
    case 'session.hand-over':
      return handOver(command, context)
    case 'changes.discard':
    case 'changes.restore':
    case 'changes.stage':
    case 'changes.unstage':
    case 'changes.commit':
    case 'branch.push':
    case 'branch.merge':
    case 'worktree.fill':
    case 'pull-request.open':
      return { drafts: context.doneInFolder ?? [] }
    case 'worktree.retry':
    case 'worktree.remove':
    case 'worktree.restore':
      return decideWorktree(state, command)
    case 'check.run':
    case 'check.stop':
    case 'attempt.pick':
    case 'attempt.pass-over':
      return decideRound(state, command, context)
  }
}

function expectNoTurn({ turn }: SessionState, instead: string): void {
  refuseIf(turn !== undefined, 'conflict', `A turn is open. ${instead}`)
}

function partsOf(command: CommandOf<'prompt.submit'>): PromptPart[] {
  return command.parts ?? [{ type: 'text', text: command.text ?? '' }]
}

type NewPrompt = Pick<DraftOf<'prompt.submitted'>, 'parts' | 'delivery' | 'messageId' | 'paused'> & {
  readonly before?: readonly string[] | undefined
}

function submit(
  state: SessionState,
  { parts, delivery, messageId, paused, before = [] }: NewPrompt,
  context: DecideContext,
): Decision {
  refuseIf(
    state.archived,
    'conflict',
    'This session is archived. Restore it from the archive first: choose Unarchive in its menu in the console, or PATCH it with { "archived": false }.',
  )
  expectFolder(state)
  if (parts.some((part) => part.type === 'image')) need(context, 'images')
  if (parts.some((part) => part.type === 'file')) need(context, 'files')
  if (delivery === 'steer') need(context, 'steer')

  const promptId = context.ids('prm')
  const { turn } = state
  const submitted = {
    type: 'prompt.submitted' as const,
    promptId,
    parts,
    delivery: turn ? delivery : 'queue',
    ...defined({ messageId, paused }),
  }
  if (turn && delivery === 'steer') {
    refuseIf(
      paused === true,
      'validation_error',
      'A steered prompt cannot be paused: it joins the running turn.',
    )
    refuseIf(
      turn.interrupted,
      'conflict',
      'The turn is being cancelled. Queue the prompt instead (delivery: "queue").',
    )
    refuseIf(
      turn.parked !== undefined,
      'conflict',
      'The turn waits for an answer and cannot be steered. Answer the request, cancel the turn, or queue the prompt.',
    )
    return { drafts: [{ ...submitted, turnId: turn.turnId }], reply: { promptId } }
  }
  refuseIf(
    state.queue.length >= context.maxQueue,
    'busy',
    `${context.maxQueue} prompts are queued. Withdraw one, or wait.`,
  )
  const isBusy = turn !== undefined || waitsForWorktree(state) || dueRestore(state) !== undefined
  if (isBusy || paused || nextPrompt(state) || context.mustWait) {
    const next = before.find((id) => state.queue.some((queued) => queued.promptId === id))
    const moved = next === undefined ? [] : [{ type: 'prompt.moved' as const, promptId, before: next }]
    return { drafts: [submitted, { type: 'prompt.queued', promptId }, ...moved], reply: { promptId } }
  }
  return {
    drafts: [submitted, { type: 'turn.started', turnId: context.ids('trn'), promptId }],
    reply: { promptId },
  }
}

/**
 * Withdraws a queued or a steered prompt. The live session has already taken a steered prompt back from the agent.
 */
function withdraw(state: SessionState, { promptId }: CommandOf<'prompt.withdraw'>): Decision {
  if (!isPendingSteer(state, promptId)) placeInQueue(state, promptId)
  return { drafts: [{ type: 'prompt.withdrawn', promptId }] }
}

export function isPendingSteer({ turn }: SessionState, promptId: string): boolean {
  return turn?.steers?.some((prompt) => prompt.promptId === promptId) ?? false
}

/** Moves a queued prompt. A move to the same place, or before itself, changes nothing. */
function move(state: SessionState, { promptId, before }: CommandOf<'prompt.move'>): Decision {
  const from = placeInQueue(state, promptId)
  const to = before === undefined ? state.queue.length : placeInQueue(state, before)
  if (to === from || to === from + 1) return { drafts: [] }
  return { drafts: [{ type: 'prompt.moved', promptId, ...(before !== undefined && { before }) }] }
}

function placeInQueue({ queue }: SessionState, promptId: string): number {
  const place = queue.findIndex((prompt) => prompt.promptId === promptId)
  if (place >= 0) return place
  throw new ParleyError(
    'conflict',
    'That prompt is not queued: it is unknown, already running, or withdrawn.',
    { details: { promptId, queued: queue.map((prompt) => prompt.promptId) } },
  )
}

/**
 * Ends the open turn, even one that the agent started; background tasks continue (`task.stop` ends them). A parked
 * turn has no process to interrupt and ends at once. Otherwise the agent reports the end, or the host forces it.
 */
function cancel(state: SessionState, command: CommandOf<'turn.cancel'>, context: DecideContext): Decision {
  const { turnId, pauseQueue = true } = command
  const { turn } = state
  if (turnId !== undefined && turnId !== turn?.turnId) throw notRunning(state, turnId)
  if (!turn) throw noTurn(state)
  const paused = pauseQueue ? pauseQueued(state) : []
  if (turn.parked) {
    const ended = endTurn(state, { outcome: 'cancelled', stopReason: 'cancelled' }, context.now)
    return { drafts: [...paused, ...ended] }
  }
  if (turn.interrupted) return { drafts: paused }
  const interrupted: EventDraft = { type: 'turn.interrupted', turnId: turn.turnId, by: 'person' }
  return { drafts: [interrupted, ...paused, ...cancelRequests(requestsOfTurn(state))] }
}

function noTurn(state: SessionState): ParleyError {
  const tasks = runningInBackground(state).map(({ taskId, title }) => ({ taskId, title }))
  if (tasks.length === 0) return new ParleyError('conflict', 'No turn is running.')
  const message = 'No turn is running, but background tasks are. Stop them with task.stop.'
  return new ParleyError('conflict', message, { details: { tasks } })
}

/**
 * Stops one background task, or all of them. A running task is stopped by its agent, which reports the end; a
 * parked one has no process and ends at once.
 */
function stopTask(state: SessionState, { taskId }: CommandOf<'task.stop'>, context: DecideContext): Decision {
  need(context, 'background')
  const open = state.tasks.filter(isInBackground)
  const wanted = open.filter((task) => taskId === undefined || task.taskId === taskId)
  if (wanted.length === 0) {
    const details = { tasks: open.map((task) => ({ taskId: task.taskId, title: task.title })) }
    const known = state.tasks.some((task) => task.taskId === taskId)
    if (taskId === undefined || known)
      throw new ParleyError('conflict', 'No such task is running.', { details })
    throw new ParleyError('not_found', 'There is no such task in this session.', { details })
  }
  const parked = wanted.filter((task) => task.parked)
  return {
    drafts: parked.flatMap((task) => [
      ...closeTask(state, task, 'The task was stopped.'),
      stopped(task, 'closed'),
    ]),
  }
}

/**
 * The error for a turn that is not running: `conflict` for the last ended turn, otherwise `not_found`,
 * because the state does not have the ids of earlier turns.
 */
function notRunning({ turn, lastTurn }: SessionState, turnId: string): ParleyError {
  const details = { turnId, ...(turn && { running: turn.turnId }) }
  if (lastTurn?.turnId === turnId) return new ParleyError('conflict', 'That turn has ended.', { details })
  const message = 'No turn with that id is running in this session: it is unknown, or ended long ago.'
  return new ParleyError('not_found', message, { details })
}

function configure(
  state: SessionState,
  command: CommandOf<'session.configure'>,
  context: DecideContext,
): Decision {
  const { model, mode, options } = command
  const mcpServers = command.mcpServers && resolvedServers(command.mcpServers, state.mcpServers)
  const requested: SessionSettings = {
    ...defined({ model, mode }),
    ...(options !== undefined && { options: { ...state.requested.options, ...options } }),
  }
  const isEmpty = Object.keys(requested).length === 0 && !mcpServers
  refuseIf(isEmpty, 'validation_error', 'Give a model, a mode, options or mcpServers.')
  checkSettings(requested, context)
  refuseFixed(state, options ?? {}, context)
  if (mcpServers) need(context, 'mcp')
  checkMcpServers(mcpServers ?? state.mcpServers, requested.options ?? state.requested.options)
  return { drafts: [{ type: 'session.configured', requested, ...(mcpServers && { mcpServers }) }] }
}

/**
 * Records a fork. The id of the new session is derived from the command, so that a repeated command, even
 * after a crash, creates no second session.
 */
function fork(
  state: SessionState,
  { commandId, before, worktree }: CommandOf<'session.fork'>,
  context: DecideContext,
): Decision {
  need(context, before === undefined ? 'fork' : 'forkBefore')
  if (worktree) need(context, 'forkElsewhere')
  expectNoTurn(state, 'Wait until it ends, then fork.')
  refuseIf(
    waitsForWorktree(state),
    'conflict',
    'The worktree of this session is not ready, so it cannot be forked.',
  )
  expectNoRestore(state)
  const into = sessionIdFrom([state.id, commandId])
  const atSeq = context.point?.seq ?? state.seq
  return {
    drafts: [{ type: 'session.forked', into, atSeq, ...defined({ before }) }],
    reply: { sessionId: into },
  }
}

/** Records that another session continues the work. */
function handOver({ into }: CommandOf<'session.hand-over'>, { continuedBy: agent }: DecideContext): Decision {
  if (agent === undefined) throw new ParleyError('internal_error', 'The session was not looked up.')
  return { drafts: [{ type: 'session.handed-over', into, agent }] }
}

function refuseFixed(state: SessionState, options: SessionOptions, { agent }: DecideContext): void {
  const before = state.requested.options ?? {}
  const changed = (option: keyof SessionOptions) =>
    option in options && hashOf(options[option] ?? null) !== hashOf(before[option] ?? null)
  const fixed = state.turns > 0 || state.turn ? agent.fixedOptions?.find(changed) : undefined
  if (fixed === undefined) return
  const message = `${agent.name} accepts "${fixed}" only at the start of a conversation. Set it when you create a session.`
  throw new ParleyError('not_supported', message, { details: { option: fixed } })
}
