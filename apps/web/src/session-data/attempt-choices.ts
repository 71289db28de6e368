import { attemptsInRound } from '@parley/protocol'
import { navigate } from '../base/route.ts'
import { type ChosenAttempt, changeNewSession, newSessionChoices } from './new-session.ts'

/** Asks on the page for a new session for several agents. */
export function trySeveral(): void {
  newSessionChoices.set(({ attempts, ...others }) => ({ ...others, attempts: attempts ?? [{}, {}] }))
  navigate({ name: 'new' })
}

export function chooseAttempts(attempts: readonly ChosenAttempt[]): void {
  changeNewSession({ attempts: attempts.slice(0, attemptsInRound.max) })
}

/** Goes back to one agent. */
export function backToOneAgent(): void {
  newSessionChoices.set(({ attempts: _, ...others }) => others)
}
