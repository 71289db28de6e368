import { readdirSync, readFileSync } from 'node:fs'

/**
 * Agents run commands in process groups of their own, so ending an agent's group does not end what it started. Every
 * process that comes from an agent carries a mark in its environment; by that it is found, where there is /proc.
 */
export const markVariable = 'PARLEY_AGENT_PROCESS'

/** Ends by force whatever carries the mark. */
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
