import { execFileSync } from 'node:child_process'

/** Processes whose parent is this test and whose command line has these words. */
export function childrenWith(words: string): number[] {
  const children = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(process.pid)], {
    encoding: 'utf8',
  })
  return children
    .split('\n')
    .filter((line) => line.includes(words))
    .map((line) => Number.parseInt(line, 10))
}

export function killChildren(words: string): void {
  for (const pid of childrenWith(words)) process.kill(pid, 'SIGKILL')
}

export const onePixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** A process and all that it has started. */
export function treeOf(pid: number): number[] {
  const lines = execFileSync('ps', ['-eo', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n')
  const parents = lines.map((line) => line.trim().split(/\s+/).map(Number))
  const found = [pid]
  for (const one of found)
    found.push(...parents.flatMap(([child, parent]) => (child && parent === one ? [child] : [])))
  return found
}

export function alive(pids: readonly number[]): number[] {
  return pids.filter((pid) => {
    try {
      return process.kill(pid, 0)
    } catch {
      return false
    }
  })
}

/** Whether one of these processes is this very command. */
export function isAmong(pids: readonly number[], command: string): boolean {
  const lines = execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' }).split('\n')
  return lines.some((line) => line.trim().endsWith(` ${command}`) && pids.includes(Number.parseInt(line, 10)))
}
