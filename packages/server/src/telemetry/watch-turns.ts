import type { Actor, EventOf, PromptPart, SessionEvent, SessionState, ToolKind } from '@parley/protocol'
import type { HostObserver } from '../core/index.ts'

/** A turn that runs or waits. Listeners use this object as the key for their own data. */
export type WatchedTurn = {
  readonly sessionId: string
  readonly turnId: string
  readonly agent: string
  readonly agentVersion: string | undefined
  readonly at: number
  readonly model: string | undefined
  readonly prompt: readonly PromptPart[]
  /** The actor that submitted the prompt. */
  readonly actor?: Actor | undefined
  /** True if the turn started in another process and was found in the log when its session was loaded. */
  readonly isFound: boolean
}

export type WatchedCall = {
  readonly turn: WatchedTurn
  readonly toolCallId: string
  readonly name: string
  readonly kind: ToolKind
  readonly at: number
  /** The call that started the subagent which made this call. */
  readonly parent: WatchedCall | undefined
  readonly input: unknown
  /** True if the call was found in the log, so that its start time is unknown. */
  readonly isFound: boolean
}

export type WatchedRequest = {
  readonly turn: WatchedTurn
  readonly requestId: string
  readonly type: 'permission' | 'question'
  readonly tool: string | undefined
  readonly kind: ToolKind
  readonly at: number
  readonly call: WatchedCall | undefined
}

export type CallEnd = EventOf<'tool-call.ended'>
export type RequestEnd = EventOf<'permission.resolved'> | EventOf<'question.resolved'>
export type TurnChange = EventOf<'turn.interrupted'> | EventOf<'turn.parked'> | EventOf<'turn.resumed'>

/** Receives the starts and ends of turns, calls and requests: each start before its end, each end once. */
export type TurnListener = {
  turnStarted?(turn: WatchedTurn): void
  turnChanged?(turn: WatchedTurn, change: TurnChange): void
  textWritten?(turn: WatchedTurn, event: EventOf<'text.written'>): void
  turnEnded?(turn: WatchedTurn, end: EventOf<'turn.ended'>, state: SessionState): void
  callStarted?(call: WatchedCall): void
  /** `call` is undefined if its start was not recorded here. */
  callEnded?(agent: string, end: CallEnd, call: WatchedCall | undefined): void
  requestStarted?(request: WatchedRequest): void
  requestEnded?(agent: string, end: RequestEnd, request: WatchedRequest | undefined): void
  /** Called when the session has left memory; its last event was at `at`. */
  sessionLeft?(sessionId: string, at: number): void
}

type Open = {
  readonly turn: WatchedTurn
  readonly calls: Map<string, WatchedCall>
  readonly requests: Map<string, WatchedRequest>
}

/** The maximum number of turns that are watched at once. Ends of further turns are reported without their starts. */
const maxTurns = 10_000
const maxInTurn = 10_000

/**
 * Converts events to starts and ends for the current listeners. Stores only open turns, calls and requests; the end of
 * a turn or of its session drops everything in it. It is synchronous and calls nothing but the listeners, so it cannot
 * delay an event.
 */
export class TurnWatch implements HostObserver {
  readonly #listeners: readonly TurnListener[]
  readonly #problem: (error: unknown) => void
  readonly #turns = new Map<string, Open>()
  readonly #lastEventAt = new Map<string, number>()

  constructor(listeners: readonly TurnListener[], problem: (error: unknown) => void) {
    this.#listeners = listeners
    this.#problem = problem
  }

  get open(): number {
    return this.#turns.size
  }

  opened(state: SessionState): void {
    if (!state.turn || this.#turns.get(state.id)?.turn.turnId === state.turn.turnId) return
    const open = this.#startTurn(foundTurn(state, state.turn))
    for (const call of foundCalls(state, open)) this.#startCall(open, call)
    for (const request of foundRequests(state, open)) this.#startRequest(open, request)
  }

  recorded(events: readonly SessionEvent[], state: SessionState): void {
    for (const event of events) this.#take(event, state)
    const last = events.at(-1)
    if (last) this.#lastEventAt.set(state.id, last.at)
  }

  left(sessionId: string): void {
    this.#turns.delete(sessionId)
    const at = this.#lastEventAt.get(sessionId)
    this.#lastEventAt.delete(sessionId)
    if (at !== undefined) this.#notify((listener) => listener.sessionLeft?.(sessionId, at))
  }

  #take(event: SessionEvent, state: SessionState): void {
    if (event.type === 'turn.started') return void this.#startTurn(turnOf(event, state))
    const open = this.#turns.get(event.sessionId)
    switch (event.type) {
      case 'turn.interrupted':
      case 'turn.parked':
      case 'turn.resumed':
        if (open) this.#notify((listener) => listener.turnChanged?.(open.turn, event))
        break
      case 'text.written':
        if (open) this.#notify((listener) => listener.textWritten?.(open.turn, event))
        break
      case 'tool-call.called':
        if (open) this.#startCall(open, callOf(event, open))
        break
      case 'tool-call.ended': {
        const call = open?.calls.get(event.toolCallId)
        open?.calls.delete(event.toolCallId)
        this.#notify((listener) => listener.callEnded?.(state.agent, event, call))
        break
      }
      case 'permission.requested':
      case 'question.asked':
        if (open) this.#startRequest(open, requestOf(event, open))
        break
      case 'permission.resolved':
      case 'question.resolved': {
        const request = open?.requests.get(event.requestId)
        open?.requests.delete(event.requestId)
        this.#notify((listener) => listener.requestEnded?.(state.agent, event, request))
        break
      }
      case 'turn.ended': {
        const turn = open?.turn ?? unseen(event, state)
        this.#turns.delete(event.sessionId)
        this.#notify((listener) => listener.turnEnded?.(turn, event, state))
      }
    }
  }

  #startTurn(turn: WatchedTurn): Open {
    const open: Open = { turn, calls: new Map(), requests: new Map() }
    if (this.#turns.size >= maxTurns) this.#turns.delete(this.#turns.keys().next().value ?? '')
    this.#turns.set(turn.sessionId, open)
    this.#notify((listener) => listener.turnStarted?.(turn))
    return open
  }

  #startCall(open: Open, call: WatchedCall): void {
    if (open.calls.size >= maxInTurn) return
    open.calls.set(call.toolCallId, call)
    this.#notify((listener) => listener.callStarted?.(call))
  }

  #startRequest(open: Open, request: WatchedRequest): void {
    if (open.requests.size >= maxInTurn) return
    open.requests.set(request.requestId, request)
    this.#notify((listener) => listener.requestStarted?.(request))
  }

  /** Calls every listener. The error of a listener is reported and does not prevent the calls of the others. */
  #notify(call: (listener: TurnListener) => void): void {
    for (const listener of this.#listeners) {
      try {
        call(listener)
      } catch (error) {
        this.#problem(error)
      }
    }
  }
}

function turnOf(event: EventOf<'turn.started'>, state: SessionState): WatchedTurn {
  return {
    ...turnFacts(state),
    turnId: event.turnId ?? '',
    at: event.at,
    prompt: promptOf(state),
    actor: state.turn?.prompt?.actor,
    isFound: false,
  }
}

function turnFacts(state: SessionState) {
  const { id: sessionId, agent, requested, effective, connection } = state
  const model = requested.model ?? effective.model
  return { sessionId, agent, agentVersion: connection?.agentVersion, model }
}

function promptOf({ turn }: SessionState): readonly PromptPart[] {
  return turn?.prompt?.parts ?? []
}

/** A turn whose start was not seen. Its start time is computed from the duration that its `turn.ended` records. */
function unseen(end: EventOf<'turn.ended'>, state: SessionState): WatchedTurn {
  const at = end.at - end.durationMs
  return { ...turnFacts(state), turnId: end.turnId ?? '', at, prompt: [], isFound: true }
}

function callOf(event: EventOf<'tool-call.called'>, { turn, calls }: Open): WatchedCall {
  const { toolCallId, name, kind, at, input, parentToolCallId } = event
  const parent = parentToolCallId === undefined ? undefined : calls.get(parentToolCallId)
  return { turn, toolCallId, name, kind, at, input, parent, isFound: false }
}

function requestOf(
  event: EventOf<'permission.requested'> | EventOf<'question.asked'>,
  { turn, calls }: Open,
): WatchedRequest {
  const { requestId, toolCallId, parentToolCallId, at } = event
  const call = calls.get(toolCallId ?? '') ?? calls.get(parentToolCallId ?? '')
  const common = { turn, requestId, at, call }
  return event.type === 'permission.requested'
    ? { ...common, type: 'permission', tool: event.tool, kind: event.kind }
    : { ...common, type: 'question', tool: undefined, kind: 'other' }
}

function foundTurn(
  state: SessionState,
  { turnId, startedAt }: { turnId: string; startedAt: number },
): WatchedTurn {
  const actor = state.turn?.prompt?.actor
  return { ...turnFacts(state), turnId, at: startedAt, prompt: promptOf(state), actor, isFound: true }
}

/** A generator, so that the caller can add each call to `calls` before the next call looks up its parent. */
function* foundCalls(state: SessionState, { turn, calls }: Open): Generator<WatchedCall> {
  for (const block of state.openBlocks) {
    if (block.type !== 'tool-call' || !block.called) continue
    const { id: toolCallId, name, kind = 'other', parentToolCallId } = block
    const parent = parentToolCallId === undefined ? undefined : calls.get(parentToolCallId)
    yield { turn, toolCallId, name, kind, at: turn.at, parent, input: undefined, isFound: true }
  }
}

function foundRequests(state: SessionState, { turn, calls }: Open): WatchedRequest[] {
  return state.requests.map((request) => {
    const { requestId, toolCallId, at } = request
    const common = { turn, requestId, at, call: calls.get(toolCallId ?? '') }
    return request.type === 'permission'
      ? { ...common, type: 'permission', tool: request.tool, kind: request.kind }
      : { ...common, type: 'question', tool: undefined, kind: 'other' }
  })
}
