import { hasCode, ParleyError } from '@parley/protocol'
import type { Claim } from './session-ownership.ts'

/** The error for a session that another process owns, or whose place is awaited. */
export function notOwned(sessionId: string, claim: Exclude<Claim, { type: 'owned' }>): ParleyError {
  if (claim.type === 'elsewhere')
    return new ParleyError('conflict', `Session ${sessionId} runs on another node.`, {
      details: { owner: { url: claim.url, term: claim.term } },
    })
  const { place, machine = place } = claim
  const message = `Session ${sessionId} cannot do this now: its folder is on ${machine}, where no server runs. Start a server there, or wait until one runs.`
  return new ParleyError('busy', message, { details: { awaited: place } })
}

/** True if a session was refused because another process owns it, or because no process at its place is alive. */
export function isNotOwned(thrown: unknown): thrown is ParleyError {
  return (hasCode(thrown, 'conflict') && thrown.details?.owner !== undefined) || isAwaited(thrown)
}

function isAwaited(thrown: unknown): boolean {
  return hasCode(thrown, 'busy') && thrown.details?.awaited !== undefined
}

export function unlessAwaited(thrown: unknown): undefined {
  if (!isAwaited(thrown)) throw thrown
}

export function beingDeleted(): ParleyError {
  return new ParleyError('not_found', 'This session is being deleted.')
}

export function stopping(): ParleyError {
  const message = 'Parley is stopping. Try again when it is back.'
  return new ParleyError('busy', message, { details: { stopping: true } })
}
