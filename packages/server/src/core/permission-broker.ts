import type {
  PermissionAnswer,
  PermissionAsk,
  Person,
  QuestionAnswer,
  QuestionAsk,
} from '@parley/adapter-kit'
import {
  backgroundTaskOf,
  type DraftOf,
  type EventDraft,
  type PermissionRule,
  readOnlyKinds,
  type SessionEvent,
} from '@parley/protocol'
import { carriedPermission, carriedQuestion } from './carried-answers.ts'
import type { Ids } from './clock.ts'
import { cancelRequests } from './end-turn.ts'
import { hashOf } from './hash.ts'
import { describedByHost } from './host-tool.ts'
import { evaluate, optionsFor, type Subject } from './permission-rules.ts'
import type { Persist } from './persist.ts'
import type { SessionLog, Transaction } from './session-log.ts'
import type { SessionContext } from './session-services.ts'
import { startOwn } from './turn-transactions.ts'

export type PermissionBroker = {
  /**
   * Receives the requests of a connection. Each request and its resolution are in the log before the agent gets the
   * answer.
   */
  readonly person: Person
  /** Passes a recorded resolution to the call that waits for it. */
  settle(resolution: Resolution): void
  /** Called when the turn is parked. Waiting calls remain pending until their agent has ended. */
  detach(): void
  /** Resolves all waiting calls without an answer, because their agent has ended. Their requests remain in the log. */
  abandon(): void
}

type Resolution = Extract<SessionEvent, { type: 'permission.resolved' | 'question.resolved' }>
type Waiter = (resolution: Resolution | undefined) => void

/**
 * Passes an agent's requests to a rule or a person, and the answers back to the agent. Independent of the clock and
 * of clients.
 */
export function createPermissionBroker(context: SessionContext): PermissionBroker {
  const { log, hostTools, persist } = context
  const { ids, rules, place } = context.services
  const waiters = new Map<string, Waiter>()
  let detached: Waiter[] = []

  async function settled(
    requestId: string,
    change: Parameters<Persist>[0],
    signal: AbortSignal | undefined,
  ): Promise<Resolution | undefined> {
    const resolution = new Promise<Resolution | undefined>((resolve) => waiters.set(requestId, resolve))
    const withdraw = () => void persist((state) => withdrawal(state.requests, requestId))
    const events = signal?.aborted ? [] : await persist(change)
    if (!events || events.length === 0) {
      waiters.delete(requestId)
      return undefined
    }
    signal?.addEventListener('abort', withdraw, { once: true })
    if (signal?.aborted) withdraw()
    try {
      return await resolution
    } finally {
      signal?.removeEventListener('abort', withdraw)
    }
  }

  async function permit(given: PermissionAsk, signal?: AbortSignal): Promise<PermissionAnswer> {
    const requestId = ids('req')
    const ask = describedByHost(hostTools, given)
    const change = () =>
      permissionRequest(log, rules.at(place), { ask, subject: subjectOf(ask) }, requestId, ids)
    const resolution = await settled(requestId, change, signal)
    if (resolution?.type !== 'permission.resolved') return { outcome: 'cancelled', requestId }
    const { outcome, input, message, endTurn } = resolution
    if (outcome === 'allowed') return { outcome, requestId, ...(input !== undefined && { input }) }
    if (outcome === 'cancelled') return { outcome, requestId }
    return {
      outcome: 'denied',
      requestId,
      ...(message !== undefined && { message }),
      ...(outcome === 'expired' && { message: 'Nobody answered in time.' }),
      ...(endTurn && { endTurn }),
    }
  }

  async function answer(ask: QuestionAsk, signal?: AbortSignal): Promise<QuestionAnswer> {
    const requestId = ids('req')
    const resolution = await settled(requestId, () => questionRequest(log, ask, requestId, ids), signal)
    if (resolution?.type !== 'question.resolved' || resolution.outcome !== 'answered') {
      return { outcome: 'cancelled', requestId }
    }
    return { outcome: 'answered', requestId, answers: resolution.answers ?? {} }
  }

  function subjectOf(ask: PermissionAsk): Subject {
    const { readOnly = readOnlyKinds.has(ask.kind) } = ask
    const host = hostTools.get(ask.tool)?.annotations
    return { ...ask, readOnly, ...(host && { host: { safe: host.safe } }) }
  }

  return {
    person: {
      permit,
      answer,
      forbids: (given) => {
        const ask = describedByHost(hostTools, given)
        if (evaluate(subjectOf(ask), log.state, rules.at(place)).decision === 'deny') return true
        const carried = carriedPermission(log.state, ask)
        if (carried !== undefined && (carried.outcome !== 'allowed' || carried.input !== undefined))
          return true
        context.checkedCalls.add(ask.tool, ask.input)
        return false
      },
    },
    settle(resolution) {
      waiters.get(resolution.requestId)?.(resolution)
      waiters.delete(resolution.requestId)
    },
    detach() {
      detached = [...detached, ...waiters.values()]
      waiters.clear()
    },
    abandon() {
      for (const resolve of [...detached, ...waiters.values()]) resolve(undefined)
      detached = []
      waiters.clear()
    },
  }
}

/**
 * The transaction that records a request. If a carried answer, a rule or the mode decides the request, it also
 * contains the resolution.
 */
function permissionRequest(
  log: SessionLog,
  rules: readonly PermissionRule[],
  { ask, subject }: { ask: PermissionAsk; subject: Subject },
  requestId: string,
  ids: Ids,
): Transaction {
  const { state } = log
  const place = placeFor(log, ask, ids)
  if (!place) return { drafts: [] }
  const { suggestions, readOnly: _, insisted: __, diffs, ...what } = ask
  const { readOnly } = subject
  const inputHash = hashOf({ tool: ask.tool, input: ask.input })
  const requested: DraftOf<'permission.requested'> = {
    type: 'permission.requested',
    ...place.turn,
    requestId,
    ...what,
    ...(diffs && { diffs: [...diffs] }),
    inputHash,
    readOnly,
    options: optionsFor(subject, suggestions),
  }
  const resolved = { type: 'permission.resolved' as const, ...place.turn }
  const carried = carriedPermission(state, ask)
  const verdict = evaluate(withInput(subject, carried?.input), state, rules)
  // A rule or the mode may now refuse the call, although it was allowed while the agent had no process.
  if (carried && (carried.outcome !== 'allowed' || verdict.decision !== 'deny')) {
    const answer = { ...carried, requestId, carriedFrom: carried.requestId }
    return { drafts: [...place.begun, requested, { ...resolved, ...answer }] }
  }
  if (verdict.decision === 'ask') return { drafts: [...place.begun, requested] }
  const { by, ruleId, message } = verdict
  const outcome = verdict.decision === 'allow' ? 'allowed' : 'denied'
  return {
    drafts: [
      ...place.begun,
      requested,
      { ...resolved, requestId, outcome, by, ...(ruleId && { ruleId }), ...(message && { message }) },
    ],
  }
}

function withInput(subject: Subject, input: unknown): Subject {
  return input === undefined ? subject : { ...subject, input }
}

function questionRequest(log: SessionLog, ask: QuestionAsk, requestId: string, ids: Ids): Transaction {
  const place = placeFor(log, ask, ids)
  if (!place) return { drafts: [] }
  const questions = [...ask.questions]
  const asked: EventDraft = { type: 'question.asked', ...place.turn, ...ask, requestId, questions }
  const carried = carriedQuestion(log.state, ask)
  if (!carried) return { drafts: [...place.begun, asked] }
  const answer = { ...carried, requestId, carriedFrom: carried.requestId }
  return { drafts: [...place.begun, asked, { type: 'question.resolved', ...place.turn, ...answer }] }
}

/**
 * The turn that a request belongs to. A request of a background task, or of a subagent that outlives its turn,
 * belongs to no turn. A request of the main agent belongs to the open turn, or starts a turn of the agent's own.
 * Undefined if the turn is being ended; then nobody is asked.
 */
function placeFor({ state }: SessionLog, ask: { parentToolCallId?: string }, ids: Ids) {
  const { turn } = state
  if (backgroundTaskOf(state, ask) || (!turn && ask.parentToolCallId)) return { turn: {}, begun: [] }
  if (turn) return turn.interrupted || turn.parked ? undefined : { turn: { turnId: turn.turnId }, begun: [] }
  const turnId = ids('trn')
  return { turn: { turnId }, begun: startOwn(state, turnId).drafts }
}

/** Cancels a request that the agent withdrew. Empty if the request is stale or no longer open. */
function withdrawal(requests: SessionLog['state']['requests'], requestId: string): Transaction {
  const request = requests.find((one) => one.requestId === requestId)
  if (!request || request.stale) return { drafts: [] }
  return { drafts: cancelRequests([request]) }
}
