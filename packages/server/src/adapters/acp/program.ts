import { setTimeout } from 'node:timers/promises'
import { RequestError } from '@agentclientprotocol/sdk/unstable'
import type { AgentProcess } from '@parley/adapter-kit/child-process'
import { messageOf, ParleyError } from '@parley/protocol'
import { errorOf } from './translate-turn.ts'

const waitMs = 500
const stepMs = 20
const goneMs = 1_500

/**
 * Ends the remaining processes of an agent, first with SIGTERM, so that they can end their own children. An agent that
 * was killed or hangs does not end the commands that it started in other process groups.
 */
export async function endGroup(agent: AgentProcess, pid: number | undefined): Promise<void> {
  if (pid === undefined) return
  for (let waited = 0; waited < waitMs && isAlive(-pid); waited += stepMs) {
    if (waited === 0) agent.kill('SIGTERM')
    await setTimeout(stepMs)
  }
  agent.killAll()
  await agent.gone(goneMs)
}

/** `pid` is a process id, or a negative process group id. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** The error for an agent that could not be started. Called once its process has ended. */
export function cannotStart(
  error: unknown,
  about: {
    readonly name: string
    readonly process: AgentProcess
    /** The error with which the operating system refused to start the program. */
    readonly failure: Error | undefined
    readonly signal: AbortSignal
  },
): ParleyError {
  if (error instanceof ParleyError) return error
  const { name, process, failure, signal } = about
  if (signal.aborted) return new ParleyError('cancelled', `Cancelled while ${name} was starting.`)
  const { exitCode, stderrTail } = process.exitDetails()
  const ended = failure?.message ?? `It ended${exitCode ? ` with code ${exitCode}` : ''}.`
  const why = error instanceof RequestError ? ` It says: ${errorMessage(error)}` : ` ${ended}`
  return new ParleyError(
    'agent_failed',
    `${name} could not be started.${why} To find the cause, run "parley doctor".`,
    {
      details: { ...(stderrTail !== undefined && { stderrTail }) },
      cause: error,
    },
  )
}

/** The agent's own message for an error of a request. */
export function errorMessage(error: unknown): string {
  return error instanceof RequestError ? errorOf(error).message : messageOf(error)
}
