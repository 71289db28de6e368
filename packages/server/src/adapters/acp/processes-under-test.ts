import { execFileSync } from 'node:child_process'

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

/** True if one of these processes runs exactly this command. */
export function isAmong(pids: readonly number[], command: string): boolean {
  const lines = execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' }).split('\n')
  return lines.some((line) => line.trim().endsWith(` ${command}`) && pids.includes(Number.parseInt(line, 10)))
}
