import { backgroundTaskOf, isBesideTurns, runningInBackground } from './background.ts'
import type { OpenBlock, OpenToolCall } from './block.ts'
import { withCarried, withInherited, withoutCarried, withStartedTask } from './carried-answers.ts'
import { defined } from './defined.ts'
import type { EventOf, EventType, SessionEvent } from './event.ts'
import { isCopied, withFailedRestore, withoutRewind, withRestore, withRewind } from './fold-rewind.ts'
import { newRound, roundFolds, withOtherFiles, withTurnTime } from './fold-round.ts'
import { withSnapshot } from './fold-snapshots.ts'
import { plannedWorktree, withSaved, worktreeFolds } from './fold-worktree.ts'
import { type Prompt, promptText } from './prompt.ts'
import { unredacted } from './redaction.ts'
import { dueRestore, type KnownTask, type OpenRequest, type SessionState } from './session-state.ts'
import { isNews } from './session-summary.ts'
import { isWorktreeUnderWay } from './worktree.ts'

/**
 * Folds one event into the state. Pure: the old state is not modified, and unchanged parts are shared. The
 * cost depends on the number of open blocks, requests and tasks, never on the length of the session.
 */
export function applyToState(state: SessionState, given: SessionEvent): SessionState {
  const event = unredacted(given)
  const updatedAt = isNews(event) ? event.at : state.updatedAt
  const next: SessionState = { ...state, ...folds.get(event.type)?.(state, event), seq: event.seq, updatedAt }
  next.status = statusOf(next)
  return next
}

function statusOf(state: SessionState): SessionState['status'] {
  const { turn, requests } = state
  if (turn?.parked) return 'parked'
  if (requests.length > 0) return turn || requests.some(({ stale }) => !stale) ? 'waiting' : 'parked'
  if (turn || isWorktreeUnderWay(state.worktree) || dueRestore(state) || state.checks?.running)
    return 'working'
  return runningInBackground(state).length > 0 ? 'background' : 'idle'
}

type Folds = {
  readonly [Type in EventType]?: (state: SessionState, event: EventOf<Type>) => Partial<SessionState>
}

const sessionFolds: Folds = {
  'session.created': (_, event) => created(event),
  'session.configured': ({ requested, effective }, event) => ({
    requested: { ...requested, ...event.requested },
    effective: { ...effective, ...event.effective },
    ...(event.mcpServers && { mcpServers: event.mcpServers }),
  }),
  'session.renamed': (_, { title }) => ({ title }),
  'session.archived': () => ({ archived: true }),
  'session.unarchived': () => ({ archived: false }),
  'session.pinned': () => ({ pinned: true }),
  'session.unpinned': () => ({ pinned: false }),
  'session.released': (_, { at }) => ({ released: at }),
  'session.rewound': (state, event) => ({
    ...withRewind(state, event),
    ...(event.files && withOtherFiles(state)),
  }),
  'session.unrewound': (state, event) => ({
    ...withoutRewind(state, event),
    ...(event.files && withOtherFiles(state)),
  }),
  'changes.discarded': withOtherFiles,
  'changes.restored': withOtherFiles,
  'restore.started': withRestore,
  'restore.failed': withFailedRestore,
  'snapshot.taken': (state, event) => ({
    snapshots: withSnapshot(state.snapshots, event),
    ...withSaved(state, event),
  }),
  // A fork contains copies of its original's seals, which do not seal the fork.
  'log.sealed': (state, { seq, hash }) => (isCopied(state, { seq }) ? {} : { sealed: { seq, hash } }),
}

const agentFolds: Folds = {
  'agent.connected': connected,
  'agent.disconnected': () => ({ connected: false }),
  'plan.updated': (_, event) => (event.parentToolCallId ? {} : { plan: event.entries }),
  'task.updated': taskUpdated,
  'usage.measured': (_, { context, total, costUsd, notionalCost }) => ({
    usage: {
      context,
      total,
      ...defined({ costUsd, notionalCost }),
    },
  }),
}

const promptFolds: Folds = {
  'prompt.submitted': submitted,
  'prompt.queued': requeued,
  'prompt.withdrawn': withoutPrompt,
  'prompt.taken': withoutPrompt,
  'prompt.moved': ({ queue }, event) => ({ queue: moved(queue, event) }),
  'queue.paused': ({ queue }) => ({ queue: queue.map((prompt) => ({ ...prompt, paused: true as const })) }),
  'queue.resumed': ({ queue }) => ({ queue: queue.map(({ paused, ...prompt }) => prompt) }),
}

const turnFolds: Folds = {
  'turn.started': started,
  'turn.interrupted': ({ turn }) => (turn ? { turn: { ...turn, interrupted: true } } : {}),
  'turn.parked': parked,
  'turn.resumed': resumed,
  'turn.ended': ended,
}

const blockFolds: Folds = {
  'text.written': ({ openBlocks }, { blockId }) => ({ openBlocks: without(openBlocks, blockId) }),
  'thinking.written': ({ openBlocks }, { blockId }) => ({ openBlocks: without(openBlocks, blockId) }),
  'block.retracted': ({ openBlocks }, { blockId }) => ({ openBlocks: without(openBlocks, blockId) }),
  'tool-call.called': ({ openBlocks }, event) => ({ openBlocks: withCalled(openBlocks, event) }),
  'tool-call.ended': ({ openBlocks }, { toolCallId }) => ({ openBlocks: without(openBlocks, toolCallId) }),
}

const requestFolds: Folds = {
  'permission.requested': (state, event) => ({
    requests: [...state.requests, openRequest('permission', event)],
  }),
  'question.asked': (state, event) => ({ requests: [...state.requests, openRequest('question', event)] }),
  'permission.resolved': resolved,
  'question.resolved': resolved,
}

type Fold = (state: SessionState, event: SessionEvent) => Partial<SessionState>

/** The events that change the state. The others only appear in the timeline. */
const folds = new Map(
  [
    sessionFolds,
    agentFolds,
    promptFolds,
    turnFolds,
    blockFolds,
    requestFolds,
    worktreeFolds,
    roundFolds,
  ].flatMap((table) => Object.entries(table) as [string, Fold][]),
)

function connected(state: SessionState, event: EventOf<'agent.connected'>): Partial<SessionState> {
  const { seq, at, sessionId, salt, turnId, type, version, ...connection } = event
  return {
    connected: true,
    released: undefined,
    ...(state.turn && { turn: { ...state.turn, delivered: true } }),
    ...(isForked(state, event) && { forkPending: false, forkPoint: undefined }),
    connection: { ...state.connection, ...connection },
  }
}

function withoutPrompt(state: SessionState, event: { promptId: string }): Partial<SessionState> {
  const queue = state.queue.filter((prompt) => prompt.promptId !== event.promptId)
  return { queue, ...withoutSteer(state, event) }
}

function parked(state: SessionState, { reason }: EventOf<'turn.parked'>): Partial<SessionState> {
  return {
    ...(state.turn && { turn: { ...state.turn, parked: reason } }),
    requests: state.requests.map((request) =>
      backgroundTaskOf(state, request) ? request : { ...request, stale: true },
    ),
    openBlocks: state.openBlocks.filter(
      (block) => (block.type === 'tool-call' && block.called) || backgroundTaskOf(state, block),
    ),
  }
}

function resumed(state: SessionState): Partial<SessionState> {
  if (!state.turn) return {}
  const { parked, ...turn } = state.turn
  return { turn }
}

function ended(state: SessionState, event: EventOf<'turn.ended'>): Partial<SessionState> {
  const { seq, at, sessionId, salt, turnId, actor, type, version, ...end } = event
  return {
    turn: undefined,
    ...withInherited(state),
    lastTurn: { ...end, turnId: turnId ?? '', endedAt: at },
    turns: state.turns + 1,
    completedTurns: state.completedTurns + (end.outcome === 'completed' ? 1 : 0),
    ...withTurnTime(state, event),
    requests: state.requests.filter((request) => request.turnId !== turnId || isBesideTurns(state, request)),
    openBlocks: state.openBlocks.filter((block) => isBesideTurns(state, block)),
  }
}

function resolved(
  state: SessionState,
  event: EventOf<'permission.resolved'> | EventOf<'question.resolved'>,
): Partial<SessionState> {
  const { requestId, outcome } = event
  return {
    ...withCarried(state, event),
    requests: state.requests.filter((request) => request.requestId !== requestId),
    settled: [...state.settled.slice(-49), { requestId, outcome }],
  }
}

const maxTasks = 100

/**
 * Adds the task to the list, or replaces it. A running task keeps its carried answers. If the list exceeds
 * its limit, ended tasks are dropped first.
 */
function taskUpdated(state: SessionState, event: EventOf<'task.updated'>): Partial<SessionState> {
  const { seq, at, sessionId, salt, turnId, actor, type, version, ...update } = event
  const before = state.tasks.find((task) => task.taskId === update.taskId)
  const keeps = before?.carried && update.status === 'running'
  const task: KnownTask = keeps ? { ...update, carried: before.carried } : update
  const others = state.tasks.filter((other) => other.taskId !== update.taskId)
  const endedFirst = others.toSorted(
    (a, b) => Number(a.status === 'running') - Number(b.status === 'running'),
  )
  const surplus = new Set(endedFirst.slice(0, Math.max(0, others.length + 1 - maxTasks)))
  const tasks = [...others.filter((other) => !surplus.has(other)), task]
  if (!update.parked) return { tasks, ...withStartedTask(state, update) }
  const isOurs = (request: OpenRequest) => backgroundTaskOf(state, request)?.taskId === update.taskId
  return {
    tasks,
    requests: state.requests.map((request) => (isOurs(request) ? { ...request, stale: true } : request)),
  }
}

function withoutSteer({ turn }: SessionState, { promptId }: { promptId: string }): Partial<SessionState> {
  if (!turn?.steers) return {}
  return { turn: { ...turn, steers: turn.steers.filter((prompt) => prompt.promptId !== promptId) } }
}

/**
 * Handles a steered prompt that was not taken up: puts it at the front of the queue, after earlier steered prompts.
 * The prompt is paused if the turn was cancelled or the agent was lost.
 */
function requeued(state: SessionState, event: EventOf<'prompt.queued'>): Partial<SessionState> {
  const { turn, queue } = state
  const index = turn?.steers?.findIndex(({ promptId }) => promptId === event.promptId) ?? -1
  const prompt = turn?.steers?.[index]
  if (!prompt) return {}
  const steered = queue.filter(({ delivery }) => delivery === 'steer').length
  const left = turn?.interrupted || event.paused ? { ...prompt, paused: true as const } : prompt
  return { queue: queue.toSpliced(steered, 0, left), ...withoutSteer(state, event) }
}

/**
 * True if the event reports the id of the forked conversation. Before that event the fork may not exist: an agent can
 * be closed after its start, before it has copied anything.
 */
function isForked(state: SessionState, event: EventOf<'agent.connected'>): boolean {
  const { forkPending, forkPoint, connection } = state
  const original = forkPoint?.agentSessionId ?? connection?.agentSessionId
  const { agentSessionId = original } = event
  return forkPending && !isCopied(state, event) && agentSessionId !== original
}

function created(event: EventOf<'session.created'>): Partial<SessionState> {
  const { agent, cwd, title, model, mode, options, mcpServers, at } = event
  const { project, forkedFrom, forkPoint, importedFrom, handedFrom, startCommit, worktree, round } = event
  return {
    agent,
    cwd,
    title: title ?? '',
    createdAt: at,
    requested: { mode, ...(model !== undefined && { model }), ...(options && { options }) },
    ...(mcpServers && { mcpServers }),
    ...(forkedFrom && { forkedFrom, forkPending: true }),
    ...(worktree && { worktree: plannedWorktree(worktree, at) }),
    ...(round && { round: newRound(round) }),
    ...defined({ project, forkPoint, importedFrom, handedFrom, startCommit }),
  }
}

function moved(queue: SessionState['queue'], event: EventOf<'prompt.moved'>): SessionState['queue'] {
  const prompt = queue.find((one) => one.promptId === event.promptId)
  if (!prompt) return queue
  const others = queue.filter((one) => one !== prompt)
  const before = others.findIndex((one) => one.promptId === event.before)
  return others.toSpliced(before < 0 ? others.length : before, 0, prompt)
}

/**
 * Folds a submitted prompt. Without a `turnId` it is added to the queue; with one it is steered into that
 * turn. The first prompt becomes the title of an untitled session.
 */
function submitted(state: SessionState, event: EventOf<'prompt.submitted'>): Partial<SessionState> {
  const { promptId, parts, delivery, at } = event
  const { turn } = state
  const prompt = { promptId, parts, delivery, at, ...defined({ actor: event.actor }) }
  return {
    ...(event.turnId ? heard(state, event) : { queue: queued(state.queue, event) }),
    ...(turn &&
      event.turnId === turn.turnId && { turn: { ...turn, steers: [...(turn.steers ?? []), prompt] } }),
    ...(state.title === '' && { title: titleFrom(promptText(parts)) }),
  }
}

/**
 * Returns the queue with the prompt added: at the end if it is paused, otherwise before the paused prompts.
 */
function queued(queue: SessionState['queue'], event: EventOf<'prompt.submitted'>): SessionState['queue'] {
  const { promptId, parts, delivery, at, paused, outside, actor } = event
  const prompt = { promptId, parts, delivery, at, ...defined({ paused, outside, actor }) }
  const place = paused ? -1 : queue.findIndex((other) => other.paused)
  return queue.toSpliced(place < 0 ? queue.length : place, 0, prompt)
}

/**
 * The number of latest prompt ids that are kept: enough to find the point up to which the agent's record matches the
 * log.
 */
const maxHeard = 40

function heard(
  state: SessionState,
  { promptId, outside }: Pick<Prompt, 'promptId' | 'outside'>,
): Pick<SessionState, 'heard'> {
  const outsideId = outside?.id
  const latest = { promptId, ...(outsideId !== undefined && { outsideId }) }
  return { heard: [...(state.heard ?? []).slice(1 - maxHeard), latest] }
}

function titleFrom(text: string): string {
  const characters = [...(text.trim().split(/[\r\n]/, 1)[0] ?? '')]
  return characters.length > 80 ? `${characters.slice(0, 79).join('')}…` : characters.join('')
}

function started(state: SessionState, event: EventOf<'turn.started'>): Partial<SessionState> {
  const { promptId, cause } = event
  const { paused, ...prompt } = state.queue.find((queued) => queued.promptId === promptId) ?? {
    promptId: promptId ?? '',
    parts: [],
    delivery: 'queue' as const,
    at: event.at,
  }
  const restarted =
    cause?.by === 'task' ? state.tasks.find(({ taskId }) => taskId === cause.taskId) : undefined
  return {
    rewound: undefined,
    // A restoration that is due is performed after the turn.
    restore: dueRestore(state),
    ...(promptId !== undefined && heard(state, prompt)),
    turn: {
      turnId: event.turnId ?? '',
      startedAt: event.at,
      ...(promptId !== undefined && { prompt }),
      ...(cause && { cause }),
      interrupted: false,
      delivered: state.connected,
      carried: restarted?.carried ?? [],
    },
    ...(restarted && { tasks: withoutCarried(state.tasks, restarted) }),
    queue: state.queue.filter((queued) => queued.promptId !== promptId),
    openBlocks: state.openBlocks.filter((block) => isBesideTurns(state, block)),
  }
}

function openRequest(
  type: 'permission' | 'question',
  event: EventOf<'permission.requested'> | EventOf<'question.asked'>,
): OpenRequest {
  const { seq, sessionId, salt, version, ...request } = event
  return { ...request, type, stale: false } as OpenRequest
}

function without(blocks: OpenBlock[], id: string): OpenBlock[] {
  return blocks.some((block) => block.id === id) ? blocks.filter((block) => block.id !== id) : blocks
}

function withCalled(blocks: OpenBlock[], event: EventOf<'tool-call.called'>): OpenBlock[] {
  const draft = blocks.find(
    (block): block is OpenToolCall => block.id === event.toolCallId && block.type === 'tool-call',
  )
  const block: OpenToolCall = {
    type: 'tool-call',
    id: event.toolCallId,
    ...(event.turnId && { turnId: event.turnId }),
    name: event.name,
    kind: event.kind,
    title: event.title,
    called: true,
    input: '',
    output: draft?.output ?? '',
    ...(event.parentToolCallId && { parentToolCallId: event.parentToolCallId }),
  }
  if (!draft) return [...blocks, block]
  return blocks.map((other) => (other.id === block.id ? block : other))
}
