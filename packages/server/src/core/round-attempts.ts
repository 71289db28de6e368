import { hasCode, type KnownRound, type RoundPart, type SessionState } from '@parley/protocol'
import { sessionIdFrom } from './hash.ts'
import { loadState } from './session-log.ts'
import type { SessionStore } from './session-store.ts'

/** The id of a round that a command makes: the same command makes the same round. */
export function roundIdFrom(commandId: string): string {
  return sessionIdFrom(['round', commandId]).replace(/^ses_/, 'rnd_')
}

/**
 * The id of the session of an attempt. The id is derived from the round, so the sessions of a round are found without a
 * search. No client can choose this id, because it is derived from a list, but the id of a session that a client
 * creates is derived from a text.
 */
export function attemptSessionId({ id, attempt }: Pick<RoundPart, 'id' | 'attempt'>): string {
  return sessionIdFrom(['attempt', id, attempt])
}

/** The ids of the sessions of the other attempts. */
export function otherAttempts({ id, attempt, count }: KnownRound): string[] {
  const numbers = Array.from({ length: count }, (_, index) => index + 1)
  return numbers.filter((one) => one !== attempt).map((one) => attemptSessionId({ id, attempt: one }))
}

/** The present state of a session that may have been deleted. */
export async function stateIfThere(
  store: SessionStore,
  sessionId: string,
): Promise<SessionState | undefined> {
  return loadState(store, sessionId).catch((error: unknown) => {
    if (!hasCode(error, 'not_found')) throw error
    return undefined
  })
}

export type FoundAttempt = { readonly state: SessionState; readonly place: string | undefined }
