import { readdirSync, readFileSync } from 'node:fs'

/**
 * The environment variable that holds the mark of an agent. All descendants of the agent inherit it, so that they can
 * be found on systems with /proc. Agents run commands in process groups of their own, so killing an agent's group
 * does not kill those commands.
 */
export const markVariable = 'PARLEY_AGENT_PROCESS'

/** Kills every process whose environment has the mark. */
export function endMarked(mark: string): void {
  for (const pid of markedProcesses(mark)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {}
  }
}

function markedProcesses(mark: string): number[] {
  return processes().filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`${markVariable}=${mark}`)
    } catch {
      return false
    }
  })
}

function processes(): number[] {
  try {
    return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []))
  } catch {
    return []
  }
}
