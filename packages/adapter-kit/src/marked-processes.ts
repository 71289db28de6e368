import { readdirSync, readFileSync, statSync } from 'node:fs'
import { ParleyError } from '@parley/protocol'

/**
 * The environment variable that holds the mark of an agent. All descendants of the agent inherit it, so that they can
 * be found on systems with /proc. Agents run commands in process groups of their own, so killing an agent's group
 * does not kill those commands.
 */
export const markVariable = 'PARLEY_AGENT_PROCESS'

/** The environment variable that holds the mark of the node that has started an agent, if there are several nodes. */
const ownerVariable = 'PARLEY_AGENT_OWNER'

const stepMs = 20
const endMs = 5_000

/** Kills every process whose environment has the mark. */
export function endMarked(mark: string): void {
  kill(processesWith(markVariable, mark))
}

/** Marks processes that are not agents, and ends all processes that have a mark. */
export const processMarks = {
  variables: (mark: string) => ({ [markVariable]: mark }),
  end: endMarked,
}

/** Finds and ends the agents that an earlier process of the host has left behind. */
export const agentLeftovers = {
  variables: (owner: string) => ({ [ownerVariable]: owner }),
  async end(owner: string): Promise<void> {
    for (let waited = 0; waited < endMs; waited += stepMs) {
      const left = processesWith(ownerVariable, owner)
      if (left.length === 0) return
      kill(left)
      await new Promise((resolve) => setTimeout(resolve, stepMs))
    }
    const message = 'An agent of the node that ran this session before has not ended yet. Try again later.'
    throw new ParleyError('busy', message)
  },
}

function kill(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {}
  }
}

/** The processes of this user, except this one, that have this variable with exactly this value. */
function processesWith(variable: string, value: string): number[] {
  const user = process.getuid?.()
  return processes().filter((pid) => {
    try {
      const variables = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0')
      return variables.includes(`${variable}=${value}`) && statSync(`/proc/${pid}`).uid === user
    } catch {
      return false
    }
  })
}

function processes(): number[] {
  try {
    const pids = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []))
    return pids.filter((pid) => pid !== process.pid)
  } catch {
    return []
  }
}
