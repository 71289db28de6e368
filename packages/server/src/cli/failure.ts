import { type ErrorCode, messageOf, ParleyError, visible } from '@parley/protocol'
import { nearest } from './nearest.ts'

/** The exit codes of every command. docs/cli.md and the help of `run` have the table. */
export const exitCodes = { completed: 0, failed: 1, usage: 2, unknown: 3, cancelled: 130 } as const

const usageErrors: ReadonlySet<ErrorCode> = new Set(['validation_error', 'not_supported'])

/**
 * Whether the error is a usage error. An unknown agent is a usage error; a known agent that is not installed is not.
 */
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

/** Suggests the known agent whose spelling is most similar to the unknown name. */
function suggestion({ code, details = {} }: ParleyError): string {
  const { agent, agents } = details
  if (code !== 'agent_not_found' || typeof agent !== 'string' || !Array.isArray(agents)) return ''
  const near = nearest(agent, agents as string[])
  return near === undefined ? '' : ` Did you mean ${near}?`
}
