import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'

/** Child processes of this test whose command line contains this text. */
export function childrenWith(words: string): number[] {
  const children = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(process.pid)], {
    encoding: 'utf8',
  })
  return children
    .split('\n')
    .filter((line) => line.includes(words))
    .map((line) => Number.parseInt(line, 10))
}

/** Resolves when no process of this machine has this text in its command line. */
export async function noneWith(words: string): Promise<void> {
  while (isRunning(words)) await setTimeout(20)
}

/** True if a process of this machine has this text in its command line. */
export function isRunning(words: string): boolean {
  return execFileSync('ps', ['-eo', 'args='], { encoding: 'utf8' }).includes(words)
}

/**
 * Waits for at least one child process whose command line contains this text, then kills each of them with its process
 * group.
 */
export async function killChildren(words: string): Promise<void> {
  let children = childrenWith(words)
  for (; children.length === 0; children = childrenWith(words)) await setTimeout(20)
  for (const pid of children) process.kill(-pid, 'SIGKILL')
}

export type RunningProcess = { readonly pid: number; readonly line: string }

/**
 * The processes, except this one, whose environment contains this folder, for example as HOME; none on systems without
 * /proc.
 */
export function processesIn(folder: string): RunningProcess[] {
  const pids = existsSync('/proc') ? readdirSync('/proc').map(Number) : []
  return pids
    .filter((pid) => pid > 0 && pid !== process.pid && procFile(pid, 'environ').includes(folder))
    .map((pid) => ({ pid, line: procFile(pid, 'cmdline').replaceAll('\0', ' ').trim() }))
}

/** Reads a file of a process from /proc. Returns an empty text if the process has ended. */
function procFile(pid: number, name: 'environ' | 'cmdline'): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1')
  } catch {
    return ''
  }
}
