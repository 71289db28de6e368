import type { LogCheck } from '@parley/protocol'
import { visible } from '../base/format.logic.ts'

/** The result of the check of a log against its seals, or the error if the server did not check it. */
export type CheckResult = LogCheck | { readonly error: string }

/** The result of a check as text. `isBad`: the check found a problem, or could not be made. */
export function checkText(result: CheckResult): { readonly text: string; readonly isBad: boolean } {
  if ('error' in result) return { text: `The log could not be verified. ${result.error}`, isBad: true }
  const { findings, sealedTo, isLate } = result
  const [first] = findings
  if (first !== undefined) {
    const more = findings.length > 1 ? ` ${findings.length - 1} more problems were found.` : ''
    return { text: `The verification failed. ${visible(first)}.${more}`, isBad: true }
  }
  if (sealedTo === 0) return { text: 'No event is sealed yet.', isBad: false }
  const late = isLate ? ' A version of Parley without seals started the log.' : ''
  return { text: `Verified to event ${sealedTo}.${late}`, isBad: false }
}
