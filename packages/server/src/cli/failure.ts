import { type ErrorCode, messageOf, ParleyError, visible } from '@parley/protocol'

/** The exit codes of every command. docs/cli.md and the help of `run` have the table. */
export const exitCodes = { completed: 0, failed: 1, usage: 2, unknown: 3, cancelled: 130 } as const

const usageErrors: ReadonlySet<ErrorCode> = new Set(['validation_error', 'not_supported'])

/** Whether the error is a usage error, such as an unknown agent, but not a known agent that is not installed. */
function isUsageError({ code, details }: ParleyError): boolean {
  return usageErrors.has(code) || (code === 'agent_not_found' && details?.agents !== undefined)
}

/**
 * The one-line message and the exit code for an error. A defect shows its stack only with --verbose. Control characters
 * are made visible, because a server may have sent the message.
 */
export function failureOf(thrown: unknown, verbose: boolean): { line: string; exitCode: number } {
  const { line, exitCode } = rawFailure(thrown, verbose)
  return { line: visible(line), exitCode }
}

function rawFailure(thrown: unknown, verbose: boolean): { line: string; exitCode: number } {
  const { cancelled, failed, usage } = exitCodes
  if (thrown instanceof ParleyError) {
    const cause = verbose && thrown.cause ? `\n${describe(thrown.cause)}` : ''
    const exitCode = thrown.code === 'cancelled' ? cancelled : isUsageError(thrown) ? usage : failed
    return { line: `parley: ${thrown.message}${suggestion(thrown)}${cause}`, exitCode }
  }
  if (verbose) return { line: `parley: ${describe(thrown)}`, exitCode: failed }
  const message = messageOf(thrown)
  return { line: `parley: internal error: ${message} (--verbose shows the stack)`, exitCode: failed }
}

function describe(thrown: unknown): string {
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
}

/** The largest number of edits between a mistyped agent and the one that is suggested. */
const maxEdits = 2

/** Suggests the known agent that is spelled most like an unknown one. */
function suggestion({ code, details = {} }: ParleyError): string {
  const { agent, agents } = details
  if (code !== 'agent_not_found' || typeof agent !== 'string' || !Array.isArray(agents)) return ''
  const near = agents.map((id: string) => ({ id, edits: editDistance(agent, id) }))
  const [nearest] = near.filter(({ edits }) => edits <= maxEdits).toSorted((a, b) => a.edits - b.edits)
  return nearest ? ` Did you mean ${nearest.id}?` : ''
}

/** The number of characters to insert, delete or replace to turn one word into the other. */
function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (const letter of one) {
    const next = [(row[0] ?? 0) + 1]
    for (const [index, above] of row.slice(1).entries()) {
      const replaced = (row[index] ?? 0) + (letter === other[index] ? 0 : 1)
      next.push(Math.min(above + 1, (next[index] ?? 0) + 1, replaced))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
