import type { ChangeScope, Changes, Compared, LeftOut } from '@parley/protocol'
import { timeOf, visible } from '../base/format.logic.ts'

/** The scopes in the order of the menu, with their names. */
export const scopeNames: Readonly<Record<ChangeScope, string>> = {
  turn: 'Turn',
  session: 'Session',
  commit: 'Uncommitted',
  base: 'Branch',
}
export const scopes = Object.keys(scopeNames) as ChangeScope[]

/** A sentence that says what is compared. */
export function comparedText({ base, branch, compared }: Changes, now: number): string {
  if (!compared) return ''
  const { from, to } = compared
  const at = (time: number | undefined) => (time === undefined ? '' : ` at ${timeOf(time, now)}`)
  switch (compared.scope) {
    case 'turn':
      if (compared.turnId === undefined) return 'This session has no turn yet.'
      if (from.at === undefined) return 'There is no snapshot from the start of this turn to compare with.'
      return to.at === undefined
        ? `What the turn has changed since its start${at(from.at)}.`
        : `What the turn changed from ${timeOf(from.at, now)} to ${timeOf(to.at, now)}.`
    case 'session':
      return from.at === undefined
        ? 'There is no snapshot from the start of this session to compare with.'
        : `Everything that changed since the session began${at(from.at)}. What was uncommitted before is not included.`
    case 'commit':
      return base === ''
        ? 'Everything in the folder: there is no commit yet.'
        : `Everything that is not committed since ${base.slice(0, 8)}${branch === undefined ? '' : ` on ${visible(branch)}`}.`
    case 'base':
      return `Everything since ${visible(branch ?? 'the branch')} left ${visible(compared.branch ?? 'its base')} at ${base.slice(0, 8)}, committed or not.`
  }
}

/** True if there is no earlier state to compare with. */
const hasNothing = ({ from }: Compared) => from.tree === undefined && from.commit === undefined

/** Notes on the limits of the comparison, most important first. */
export function comparisonNotes(compared: Compared): string[] {
  const { marked, shared, leftOut } = compared
  const notes: string[] = []
  if (marked === 'missing' && !hasNothing(compared))
    notes.push(
      'There is no snapshot from the end of the turn. The next one is shown instead, so later changes may be included.',
    )
  if (marked === 'late')
    notes.push(
      'A tool call that can write files began before the snapshot was complete, so some of its changes may be missing.',
    )
  if (shared)
    notes.push(
      'Another session worked in this folder at the same time, so it may have made some of these changes.',
    )
  if (leftOut && leftOut.length > 0) notes.push(`Not compared: ${leftOut.map(leftOutText).join(', ')}.`)
  return notes
}

const reasons: Readonly<Record<string, string>> = {
  large: 'over 10 MB',
  repository: 'another repository',
  unreadable: 'cannot be read',
}

function leftOutText({ path, reason }: LeftOut): string {
  return `${visible(path)} (${reasons[reason] ?? visible(reason)})`
}

/** The sentence that is shown instead of an empty list. */
export function emptyText({ compared }: Changes): string | undefined {
  if (compared?.marked === 'missing' && hasNothing(compared)) return undefined
  switch (compared?.scope) {
    case 'turn':
      return 'No changes in this turn.'
    case 'session':
      return 'No changes since the session began.'
    case 'base':
      return 'No changes since the branch left its base.'
    default:
      return 'No changes since the last commit.'
  }
}
