import { setTimeout } from 'node:timers/promises'
import type { AgentProcess } from '../child-process.ts'

const waitMs = 500
const stepMs = 20
const goneMs = 1_500

/**
 * Ends what is left of an agent and its descendants, first with SIGTERM, so that they can end their own children.
 * Commands may run in groups of their own, which an agent that was killed or hangs does not end.
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

/** `pid` is a process, or negative a process group. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
