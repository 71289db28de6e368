import { backgroundTaskOf, heirOfAnswers, isBesideTurns, runningInBackground } from './background.ts'
import type { OpenBlock, OpenToolCall } from './block.ts'
import type { Delta } from './delta.ts'
import type { EventOf, SessionEvent } from './event.ts'
import { type Prompt, promptText } from './prompt.ts'
import type { CarriedAnswer, KnownTask, OpenRequest, SessionState } from './session-state.ts'

/**
 * Folds one event into the state. Pure: the old state is not modified, and unchanged parts are shared. The
 * cost depends on what is open now, never on the length of the session.
 */
export function applyToState(state: SessionState, event: SessionEvent): SessionState {
  const updatedAt = isNews(event) ? event.at : state.updatedAt
  const next: SessionState = { ...state, ...changes(state, event), seq: event.seq, updatedAt }
  next.status = statusOf(next)
  return next
}

/**
 * Events that do not change `updatedAt`, and with it the session's place in the list: processes that start
 * and end, what a person does with a session in the list, and forks.
 */
const bookkeeping: ReadonlySet<string> = new Set([
  'agent.connected',
  'agent.disconnected',
  'session.renamed',
  'session.archived',
  'session.unarchived',
  'session.pinned',
  'session.unpinned',
  'session.forked',
  'session.released',
])

/**
 * Settings that an agent reports, as it does at its start, are not news; settings that somebody requested
 * are.
 */
function isNews(event: SessionEvent): boolean {
  if (event.type === 'session.configured')
    return event.requested !== undefined || event.mcpServers !== undefined
  return !bookkeeping.has(event.type)
}

function statusOf(state: SessionState): SessionState['status'] {
  const { turn, requests } = state
  if (turn?.parked) return 'parked'
  if (requests.length > 0) return turn || requests.some(({ stale }) => !stale) ? 'waiting' : 'parked'
  if (turn) return 'working'
  return runningInBackground(state).length > 0 ? 'background' : 'idle'
}

function changes(state: SessionState, event: SessionEvent): Partial<SessionState> {
  switch (event.type) {
    // session
    case 'session.created':
      return created(event)
    case 'session.configured':
      return {
        requested: { ...state.requested, ...event.requested },
        effective: { ...state.effective, ...event.effective },
        ...(event.mcpServers && { mcpServers: event.mcpServers }),
      }
    case 'session.renamed':
      return { title: event.title }
    case 'session.archived':
      return { archived: true }
    case 'session.unarchived':
      return { archived: false }
    case 'session.pinned':
      return { pinned: true }
    case 'session.unpinned':
      return { pinned: false }

    case 'session.released':
      return { released: event.at }

    // agent
    case 'agent.connected': {
      const { seq, at, sessionId, turnId, type, version, ...connection } = event
      return {
        connected: true,
        released: undefined,
        ...(state.turn && { turn: { ...state.turn, delivered: true } }),
        forkPending: stillToFork(state, seq),
        connection: { ...state.connection, ...connection },
      }
    }
    case 'agent.disconnected':
      return { connected: false }

    // prompt
    case 'prompt.submitted':
      return submitted(state, event)
    case 'prompt.queued':
      return requeued(state, event)
    case 'prompt.withdrawn':
    case 'prompt.taken':
      return {
        queue: state.queue.filter((prompt) => prompt.promptId !== event.promptId),
        ...withoutSteer(state, event),
      }
    case 'prompt.moved':
      return { queue: moved(state.queue, event) }

    // queue
    case 'queue.paused':
      return { queue: state.queue.map((prompt) => ({ ...prompt, paused: true as const })) }
    case 'queue.resumed':
      return { queue: state.queue.map(({ paused, ...prompt }) => prompt) }

    // turn
    case 'turn.started':
      return started(state, event)
    case 'turn.interrupted':
      return state.turn ? { turn: { ...state.turn, interrupted: true } } : {}
    case 'turn.parked':
      return {
        ...(state.turn && { turn: { ...state.turn, parked: event.reason } }),
        requests: state.requests.map((request) =>
          backgroundTaskOf(state, request) ? request : { ...request, stale: true },
        ),
        openBlocks: state.openBlocks.filter(
          (block) => (block.type === 'tool-call' && block.called) || backgroundTaskOf(state, block),
        ),
      }
    case 'turn.resumed': {
      if (!state.turn) return {}
      const { parked, ...turn } = state.turn
      return { turn }
    }
    case 'turn.ended': {
      const { seq, at, sessionId, turnId, type, version, ...end } = event
      return {
        turn: undefined,
        ...inherited(state),
        lastTurn: { ...end, turnId: turnId ?? '', endedAt: at },
        turns: state.turns + 1,
        completedTurns: state.completedTurns + (end.outcome === 'completed' ? 1 : 0),
        requests: state.requests.filter(
          (request) => request.turnId !== turnId || isBesideTurns(state, request),
        ),
        openBlocks: state.openBlocks.filter((block) => isBesideTurns(state, block)),
      }
    }

    // block and tool call
    case 'text.written':
    case 'thinking.written':
    case 'block.retracted':
      return { openBlocks: without(state.openBlocks, event.blockId) }
    case 'tool-call.called':
      return { openBlocks: withCalled(state.openBlocks, event) }
    case 'tool-call.ended':
      return { openBlocks: without(state.openBlocks, event.toolCallId) }

    // person
    case 'permission.requested':
      return { requests: [...state.requests, openRequest('permission', event)] }
    case 'question.asked':
      return { requests: [...state.requests, openRequest('question', event)] }
    case 'permission.resolved':
    case 'question.resolved':
      return {
        ...carried(state, event),
        requests: state.requests.filter((request) => request.requestId !== event.requestId),
        settled: [...state.settled.slice(-49), { requestId: event.requestId, outcome: event.outcome }],
      }

    // state
    case 'plan.updated':
      return event.parentToolCallId ? {} : { plan: event.entries }
    case 'task.updated':
      return taskUpdated(state, event)
    case 'usage.measured':
      return {
        usage: {
          context: event.context,
          total: event.total,
          ...(event.costUsd !== undefined && { costUsd: event.costUsd }),
          ...(event.notionalCost && { notionalCost: event.notionalCost }),
        },
      }
    default:
      return {}
  }
}

const mostTasks = 100

/** The list is limited: ended tasks are dropped first. A running task keeps its carried answers. */
function taskUpdated(state: SessionState, event: EventOf<'task.updated'>): Partial<SessionState> {
  const { seq, at, sessionId, turnId, type, version, ...told } = event
  const before = state.tasks.find((task) => task.taskId === told.taskId)
  const keeps = before?.carried && told.status === 'running'
  const task: KnownTask = keeps ? { ...told, carried: before.carried } : told
  const others = state.tasks.filter((other) => other.taskId !== told.taskId)
  const endedFirst = others.toSorted(
    (a, b) => Number(a.status === 'running') - Number(b.status === 'running'),
  )
  const surplus = new Set(endedFirst.slice(0, Math.max(0, others.length + 1 - mostTasks)))
  const tasks = [...others.filter((other) => !surplus.has(other)), task]
  if (!told.parked) return { tasks }
  const isOurs = (request: OpenRequest) => backgroundTaskOf(state, request)?.taskId === told.taskId
  return {
    tasks,
    requests: state.requests.map((request) => (isOurs(request) ? { ...request, stale: true } : request)),
  }
}

function inherited(state: SessionState): Partial<SessionState> {
  const heir = heirOfAnswers(state)
  const answers = state.turn?.carried ?? []
  if (!heir || answers.length === 0) return {}
  const task = { ...heir, carried: [...(heir.carried ?? []), ...answers] }
  return { tasks: state.tasks.map((one) => (one === heir ? task : one)) }
}

function withoutSteer({ turn }: SessionState, { promptId }: { promptId: string }): Partial<SessionState> {
  if (!turn?.steers) return {}
  return { turn: { ...turn, steers: turn.steers.filter((prompt) => prompt.promptId !== promptId) } }
}

/**
 * A steered prompt that its turn did not take up goes to the front of the queue, after earlier ones of its
 * kind. It is paused if the turn was cancelled or the agent was lost.
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

function stillToFork(state: SessionState, seq: number): boolean {
  return state.forkPending && seq <= (state.forkedFrom?.seq ?? 0)
}

/**
 * An answer to a stale request is carried until the resumed agent asks again. A resolution that came from a
 * carried answer removes it.
 */
function carried(
  state: SessionState,
  event: EventOf<'permission.resolved'> | EventOf<'question.resolved'>,
): Partial<SessionState> {
  if (event.carriedFrom) {
    const left = (answers: readonly CarriedAnswer[]) =>
      answers.filter((answer) => answer.resolution.requestId !== event.carriedFrom)
    return {
      ...(state.turn && { turn: { ...state.turn, carried: left(state.turn.carried) } }),
      tasks: state.tasks.map((task) => (task.carried ? { ...task, carried: left(task.carried) } : task)),
    }
  }
  const request = state.requests.find((open) => open.requestId === event.requestId)
  if (!request?.stale) return {}
  const { seq, at, sessionId, turnId, type, version, ...resolution } = event
  const answer = (
    request.type === 'permission'
      ? { type: 'permission', inputHash: request.inputHash, resolution }
      : { type: 'question', questions: request.questions, resolution }
  ) as CarriedAnswer
  const owner = backgroundTaskOf(state, request)
  if (owner) {
    const task = { ...owner, carried: [...(owner.carried ?? []), answer] }
    return { tasks: state.tasks.map((one) => (one === owner ? task : one)) }
  }
  if (!state.turn) return {}
  return { turn: { ...state.turn, carried: [...state.turn.carried, answer] } }
}

function created(event: EventOf<'session.created'>): Partial<SessionState> {
  const { agent, cwd, title, model, mode, options, mcpServers, at } = event
  const { forkedFrom, importedFrom, startCommit } = event
  return {
    agent,
    cwd,
    title: title ?? '',
    createdAt: at,
    requested: { mode, ...(model !== undefined && { model }), ...(options && { options }) },
    ...(mcpServers && { mcpServers }),
    ...(forkedFrom && { forkedFrom, forkPending: true }),
    ...(importedFrom && { importedFrom }),
    ...(startCommit !== undefined && { startCommit }),
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
 * A prompt without a turn waits in the queue; one with a turn steers it. The first prompt names an untitled
 * session.
 */
function submitted(state: SessionState, event: EventOf<'prompt.submitted'>): Partial<SessionState> {
  const { promptId, parts, delivery, at } = event
  const { turn } = state
  const prompt = { promptId, parts, delivery, at }
  return {
    ...(event.turnId ? heard(state, event) : { queue: queued(state.queue, event) }),
    ...(turn &&
      event.turnId === turn.turnId && { turn: { ...turn, steers: [...(turn.steers ?? []), prompt] } }),
    ...(state.title === '' && { title: titleFrom(promptText(parts)) }),
  }
}

/** A prompt that can run is queued before the paused ones. */
function queued(queue: SessionState['queue'], event: EventOf<'prompt.submitted'>): SessionState['queue'] {
  const { promptId, parts, delivery, at, paused, outside } = event
  const prompt = { promptId, parts, delivery, at, ...(paused && { paused }), ...(outside && { outside }) }
  const place = paused ? -1 : queue.findIndex((other) => other.paused)
  return queue.toSpliced(place < 0 ? queue.length : place, 0, prompt)
}

/** How many of the last prompt ids are kept: enough to find where the agent's record goes beyond the log. */
const mostHeard = 40

function heard(
  state: SessionState,
  { promptId, outside }: Pick<Prompt, 'promptId' | 'outside'>,
): Pick<SessionState, 'heard'> {
  const outsideId = outside?.id
  const latest = { promptId, ...(outsideId !== undefined && { outsideId }) }
  return { heard: [...(state.heard ?? []).slice(1 - mostHeard), latest] }
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
    ...(restarted && {
      tasks: state.tasks.map((task) => (task === restarted ? withoutCarried(task) : task)),
    }),
    queue: state.queue.filter((queued) => queued.promptId !== promptId),
    openBlocks: state.openBlocks.filter((block) => isBesideTurns(state, block)),
  }
}

function withoutCarried({ carried, ...task }: KnownTask): KnownTask {
  return task
}

function openRequest(
  type: 'permission' | 'question',
  event: EventOf<'permission.requested'> | EventOf<'question.asked'>,
): OpenRequest {
  const { seq, sessionId, version, ...request } = event
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

/**
 * Folds one live delta into the open blocks. The cost does not depend on the length of the block or the
 * session.
 */
export function applyDeltaToState(state: SessionState, delta: Delta): SessionState {
  if (delta.type === 'activity.changed') return state
  const id = 'blockId' in delta ? delta.blockId : delta.toolCallId
  let index = state.openBlocks.length - 1
  while (index >= 0 && state.openBlocks[index]!.id !== id) index--
  const before = index >= 0 ? state.openBlocks[index] : undefined
  const after = withDelta(before, delta)
  if (after === before || !after) return state
  const openBlocks = state.openBlocks.slice()
  openBlocks[index >= 0 ? index : openBlocks.length] = after
  return { ...state, openBlocks }
}

function withDelta(block: OpenBlock | undefined, delta: Delta): OpenBlock | undefined {
  switch (delta.type) {
    case 'text.streamed':
    case 'thinking.streamed': {
      const type = delta.type === 'text.streamed' ? 'text' : 'thinking'
      const open = block?.type === type ? block : textBlock(type, delta)
      return grown(open, 'text', delta, block !== undefined)
    }
    case 'tool-call.drafted':
      return block ?? draftedCall(delta)
    case 'tool-call.input-streamed':
    case 'tool-call.output-streamed': {
      const field = delta.type === 'tool-call.input-streamed' ? 'input' : 'output'
      const open = block?.type === 'tool-call' ? block : draftedCall({ ...delta, name: '' })
      return grown(open, field, delta, block !== undefined)
    }
    default:
      return block
  }
}

function textBlock(
  type: 'text' | 'thinking',
  delta: { blockId: string; turnId?: string | undefined; parentToolCallId?: string | undefined },
): OpenBlock & { text: string } {
  return {
    type,
    id: delta.blockId,
    ...(delta.turnId && { turnId: delta.turnId }),
    text: '',
    ...(delta.parentToolCallId && { parentToolCallId: delta.parentToolCallId }),
  }
}

function draftedCall(delta: {
  toolCallId: string
  turnId?: string | undefined
  name: string
  kind?: OpenToolCall['kind']
  title?: string | undefined
  parentToolCallId?: string | undefined
}): OpenToolCall {
  return {
    type: 'tool-call',
    id: delta.toolCallId,
    ...(delta.turnId && { turnId: delta.turnId }),
    name: delta.name,
    ...(delta.kind && { kind: delta.kind }),
    ...(delta.title && { title: delta.title }),
    called: false,
    input: '',
    output: '',
    ...(delta.parentToolCallId && { parentToolCallId: delta.parentToolCallId }),
  }
}

/**
 * Drops the part that the block already has and appends the rest; a piece that starts beyond the end sets
 * `gap`.
 */
function grown<B extends OpenBlock, F extends keyof B>(
  block: B,
  field: F,
  delta: { offset: number; text: string },
  existed: boolean,
): B {
  const text = block[field] as string
  if (block.gap && delta.offset === 0) {
    const { gap, ...whole } = block
    return { ...whole, [field]: delta.text } as unknown as B
  }
  if (delta.offset > text.length) return block.gap ? block : { ...block, gap: true }
  const fresh = text.length === delta.offset ? delta.text : delta.text.slice(text.length - delta.offset)
  if (fresh === '' && existed) return block
  return { ...block, [field]: text + fresh }
}
