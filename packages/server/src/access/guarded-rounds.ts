import {
  type Actor,
  defined,
  type Limits,
  NewRound,
  type SessionSummary,
  scopesOfCreation,
  validationError,
} from '@parley/protocol'
import type { Host } from '../core/index.ts'
import { expectScopes, outsideLimits, type Principal, permitsAgent, permitsSession } from './principal.ts'

/** The operations that read rounds. They show only the attempts within the limits. */
export function readingRounds(
  host: Host,
  principal: Principal,
): Pick<Host, 'round' | 'rounds' | 'attemptFiles'> {
  const { limits } = principal
  const isVisible = (session: SessionSummary) => permitsSession(limits, session)
  return {
    async round(roundId) {
      expectScopes(principal, ['read'])
      return host.round(roundId, isVisible)
    },
    async rounds(query) {
      expectScopes(principal, ['read'])
      return host.rounds({ ...query, ...defined({ within: limits }) }, isVisible)
    },
    async attemptFiles(roundId) {
      expectScopes(principal, ['read'])
      return host.attemptFiles(roundId, isVisible)
    },
  }
}

/** Every attempt needs the scopes of its settings, and an agent within the limits. */
export function creatingRounds(host: Host, principal: Principal, by: Actor): Host['createRound'] {
  const { limits, scopes } = principal
  return async (given) => {
    expectScopes(principal, ['prompt'])
    const parsed = NewRound.safeParse(given)
    if (!parsed.success) throw validationError('The new round', parsed.error)
    const round = parsed.data
    if (limits?.folders) throw outsideLimits('A worktree, which is in the data folder,')
    if (limits?.sessions) throw outsideLimits('Creating sessions')
    for (const attempt of round.attempts) {
      expectScopes(principal, scopesOfCreation(attempt))
      if (!permitsAgent(limits, attempt.agent)) throw outsideLimits(`The agent ${attempt.agent}`)
    }
    return host.createRound(round, { by, mayInheritWideMode: scopes.has('decide') })
  }
}

/** A pick stops the other attempts and removes their worktrees, so all of them must be within the limits. */
export async function expectAllAttempts(
  host: Host,
  limits: Limits | undefined,
  sessionId: string,
): Promise<void> {
  const { round } = limits ? await host.state(sessionId) : {}
  if (!round) return
  const [all, permitted] = await Promise.all([
    host.attemptFiles(round.id),
    host.attemptFiles(round.id, (session) => permitsSession(limits, session)),
  ])
  if (permitted.length < all.length) throw outsideLimits('Another attempt of this round')
}
