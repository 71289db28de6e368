import { execFileSync } from 'node:child_process'

/** The processes that this one has started and that are alive, but for the one that looks. */
export function ownChildren(): string[] {
  const lines = execFileSync('ps', ['-eo', 'pid=,ppid=,stat=,comm='], { encoding: 'utf8' }).split('\n')
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter(
      ([, parent, state, name]) => parent === `${process.pid}` && !state?.startsWith('Z') && name !== 'ps',
    )
    .map(([pid = '']) => pid)
}
