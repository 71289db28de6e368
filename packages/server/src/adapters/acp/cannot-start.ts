import { RequestError } from '@agentclientprotocol/sdk/unstable'
import { messageOf, ParleyError } from '@parley/protocol'
import type { AgentProcess } from '../child-process.ts'
import { errorOf } from './translate-turn.ts'

/** The error for an agent that could not be started. Called once its process has ended. */
export function cannotStart(
  error: unknown,
  about: {
    readonly name: string
    readonly process: AgentProcess
    /** The error of the operating system. */
    readonly failure: Error | undefined
    readonly signal: AbortSignal
  },
): ParleyError {
  if (error instanceof ParleyError) return error
  const { name, process, failure, signal } = about
  if (signal.aborted) return new ParleyError('cancelled', `Cancelled while ${name} was started.`)
  const { exitCode, stderrTail } = process.lastWords()
  const ended = failure?.message ?? `It ended${exitCode ? ` with code ${exitCode}` : ''}.`
  const why = error instanceof RequestError ? ` It says: ${words(error)}` : ` ${ended}`
  return new ParleyError('agent_failed', `${name} could not be started.${why} See "parley doctor".`, {
    details: { ...(stderrTail !== undefined && { stderrTail }) },
    cause: error,
  })
}

export function words(error: unknown): string {
  return error instanceof RequestError ? errorOf(error).message : messageOf(error)
}
