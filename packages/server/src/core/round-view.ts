import {
  type Attempt,
  type AttemptCheck,
  type AttemptState,
  defined,
  type ErrorInfo,
  type EventOf,
  isCheckOutdated,
  projectIdOf,
  promptText,
  type Round,
  type SessionState,
} from '@parley/protocol'
import { supersedes } from './decide-round.ts'
import { readEvents } from './read-events.ts'
import type { FoundAttempt } from './round-attempts.ts'
import type { SessionStore } from './session-store.ts'

/** The maximum number of characters of a prompt that are shown. */
const maxPrompt = 4_000
/** The first prompt is among the first events of a session. */
const firstEvents = 3

/**
 * The round of these sessions, of which there must be at least one. With `isWhole`, includes the fields that a list
 * leaves out.
 */
export async function roundOf(
  store: Pick<SessionStore, 'read'>,
  attempts: readonly FoundAttempt[],
  { isWhole, checkable }: { readonly isWhole: boolean; readonly checkable: boolean },
): Promise<Round> {
  const states = attempts.map(({ state }) => state)
  const [{ state, place } = none] = attempts
  const { round, title, project, worktree } = state
  const prompt = isWhole ? await promptOf(store, state.id) : undefined
  const picked = pickedOf(states)
  return {
    id: round?.id ?? '',
    title,
    ...defined({ prompt, project, place }),
    ...(project !== undefined && { projectId: projectIdOf({ project, ...defined({ place }) }) }),
    createdAt: Math.min(...states.map(({ createdAt }) => createdAt)),
    updatedAt: Math.max(...states.map(({ updatedAt }) => updatedAt)),
    ...defined({ base: worktree?.base, from: worktree?.from }),
    count: round?.count ?? states.length,
    attempts: states.map((one) => attemptOf(one, picked, isWhole)),
    ...defined({ picked: states.find(({ id }) => id === picked)?.round?.attempt }),
    checkable,
  }
}

const none: FoundAttempt = { state: {} as SessionState, place: undefined }

async function promptOf(store: Pick<SessionStore, 'read'>, sessionId: string): Promise<string | undefined> {
  const events = await readEvents(store, sessionId, { after: 0, limit: firstEvents })
  for (const { json } of events) {
    const event = JSON.parse(json) as EventOf<'prompt.submitted'>
    if (event.type === 'prompt.submitted') return promptText(event.parts).slice(0, maxPrompt)
  }
  return undefined
}

/** The picked session. The other attempts may not have been notified yet, so several of them may be recorded as picked. */
function pickedOf(states: readonly SessionState[]): string | undefined {
  const picks = states.flatMap(({ round }) => (round?.pick ? [round.pick] : []))
  const [last] = picks.toSorted((a, b) => (supersedes(a, b) ? -1 : 1))
  return last?.session
}

function attemptOf(state: SessionState, picked: string | undefined, isWhole: boolean): Attempt {
  const { id, epoch, seq, agent, title, archived, requests, turns, turn, round, requested, effective } = state
  const effort = effective.options?.effort ?? requested.options?.effort
  const check = checkOf(state, isWhole)
  return {
    attempt: round?.attempt ?? 0,
    ...{ sessionId: id, epoch, seq, agent, title, archived, turns },
    ...defined({ model: effective.model ?? requested.model, mode: effective.mode ?? requested.mode, effort }),
    ...stateOf(state),
    ...(picked !== undefined && { pick: picked === id ? ('picked' as const) : ('passed-over' as const) }),
    requests: requests.length,
    workedMs: round?.workedMs ?? 0,
    ...defined({ runningSince: turn?.startedAt, worktree: worktreeOf(state), check }),
    ...costOf(state),
  }
}

function stateOf(state: SessionState): { readonly state: AttemptState; readonly failure?: ErrorInfo } {
  const { worktree, turn, requests, lastTurn, queue } = state
  if (requests.length > 0) return { state: 'waiting' }
  if (turn) return { state: 'working' }
  if (worktree?.failure) return { state: 'failed', failure: worktree.failure.error }
  if (lastTurn?.outcome === 'completed') return { state: 'done' }
  if (lastTurn?.outcome === 'cancelled') return { state: 'stopped' }
  if (lastTurn) return { state: 'failed', failure: lastTurn.error ?? unknownEnd }
  return { state: queue.some(({ paused }) => !paused) ? 'preparing' : 'stopped' }
}

const unknownEnd: ErrorInfo = {
  code: 'agent_failed',
  message: 'The end of the last turn is not known: the agent or the server ended before it.',
}

function worktreeOf({ worktree }: SessionState): Attempt['worktree'] {
  if (!worktree) return undefined
  const { phase, branch, path, kept } = worktree
  return { phase, branch, path, ...(kept && { kept: true }) }
}

function checkOf(state: SessionState, isWhole: boolean): AttemptCheck | undefined {
  const { running, last } = state.checks ?? {}
  if (!running && !last) return undefined
  const { exitCode, error, durationMs, at, tail } = last ?? {}
  return {
    ...(running && { running: true }),
    ...defined({ exitCode, error, durationMs, at }),
    ...(isCheckOutdated(state) && { outdated: true }),
    ...(isWhole && defined({ tail })),
  }
}

/** The usage of the whole session. An agent may report it only at the end of a turn. */
function costOf({
  usage,
  lastTurn,
  turns,
}: SessionState): Pick<Attempt, 'tokens' | 'costUsd' | 'notionalCost'> {
  const only = turns === 1 ? lastTurn : undefined
  const tokens = usage?.total ?? only?.usage
  const costUsd = usage?.costUsd ?? only?.costUsd
  const notionalCost = usage?.costUsd === undefined ? only?.notionalCost : usage.notionalCost
  return defined({ tokens, costUsd, notionalCost })
}
