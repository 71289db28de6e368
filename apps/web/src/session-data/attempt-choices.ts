import { attemptsInRound } from '@parley/protocol'
import { navigate } from '../base/route.ts'
import { type ChosenAttempt, changeNewSession, newSessionChoices } from './new-session.ts'

/** Opens the page for a new session, with the choice of several agents. */
export function trySeveral(): void {
  newSessionChoices.set(({ attempts, ...others }) => ({ ...others, attempts: attempts ?? [{}, {}] }))
  navigate({ name: 'new' })
}

export function chooseAttempts(attempts: readonly ChosenAttempt[]): void {
  changeNewSession({ attempts: attempts.slice(0, attemptsInRound.max) })
}

/** Returns to the choice of one agent. */
export function backToOneAgent(): void {
  newSessionChoices.set(({ attempts: _, ...others }) => others)
}
