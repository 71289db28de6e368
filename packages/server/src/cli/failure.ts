import { type ErrorCode, messageOf, ParleyError } from '@parley/protocol'

/** How the program ends: the same in every command. The table stands in docs/cli.md and in the help of `run`. */
export const exitCodes = { completed: 0, failed: 1, usage: 2, unknown: 3, cancelled: 130 } as const

const mistakes: ReadonlySet<ErrorCode> = new Set(['validation_error', 'not_supported'])

/** What was typed cannot be meant: other words are needed. An agent that is only not installed is no such mistake. */
function isMistake({ code, details }: ParleyError): boolean {
  return mistakes.has(code) || (code === 'agent_not_found' && details?.agents !== undefined)
}

/** What a person is told, in one line, and the exit code. A defect shows its stack only when asked for more. */
export function failureOf(thrown: unknown, verbose: boolean): { line: string; exitCode: number } {
  const { cancelled, failed, usage } = exitCodes
  if (thrown instanceof ParleyError) {
    const cause = verbose && thrown.cause ? `\n${describe(thrown.cause)}` : ''
    const exitCode = thrown.code === 'cancelled' ? cancelled : isMistake(thrown) ? usage : failed
    return { line: `parley: ${thrown.message}${cause}`, exitCode }
  }
  if (verbose) return { line: `parley: ${describe(thrown)}`, exitCode: failed }
  const message = messageOf(thrown)
  return { line: `parley: something broke: ${message} (--verbose shows where)`, exitCode: failed }
}

function describe(thrown: unknown): string {
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
}
