import { type ErrorCode, messageOf, ParleyError } from '@parley/protocol'

/** How the program ends. The same table stands in the help of `run`. */
export const exitCodes = { completed: 0, failed: 1, usage: 2, unknown: 3, cancelled: 130 } as const

const mistakes: ReadonlySet<ErrorCode> = new Set(['validation_error', 'not_supported'])

/** What a person is told, in one line, and the exit code. A defect shows its stack only when asked for more. */
export function failureOf(thrown: unknown, verbose: boolean): { line: string; exitCode: number } {
  const { cancelled, failed, usage } = exitCodes
  if (thrown instanceof ParleyError) {
    const cause = verbose && thrown.cause ? `\n${describe(thrown.cause)}` : ''
    const exitCode = thrown.code === 'cancelled' ? cancelled : mistakes.has(thrown.code) ? usage : failed
    return { line: `parley: ${thrown.message}${cause}`, exitCode }
  }
  if (verbose) return { line: `parley: ${describe(thrown)}`, exitCode: failed }
  const message = messageOf(thrown)
  return { line: `parley: something broke: ${message} (--verbose shows where)`, exitCode: failed }
}

function describe(thrown: unknown): string {
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
}
