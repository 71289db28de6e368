import { execFileSync } from 'node:child_process'

/** The live child processes of this process, except the `ps` that lists them. */
export function ownChildren(): string[] {
  const lines = execFileSync('ps', ['-eo', 'pid=,ppid=,stat=,comm='], { encoding: 'utf8' }).split('\n')
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter(
      ([, parent, state, name]) => parent === `${process.pid}` && !state?.startsWith('Z') && name !== 'ps',
    )
    .map(([pid = '']) => pid)
}
