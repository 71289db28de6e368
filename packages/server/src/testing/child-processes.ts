import { execFileSync } from 'node:child_process'
import { setTimeout } from 'node:timers/promises'

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

/** Resolves when no process of this machine has these words in its command line. */
export async function noneWith(words: string): Promise<void> {
  const all = () => execFileSync('ps', ['-eo', 'args='], { encoding: 'utf8' })
  while (all().includes(words)) await setTimeout(20)
}

/** Kills these processes, each with its group, as soon as there is one. */
export async function killChildren(words: string): Promise<void> {
  let children = childrenWith(words)
  for (; children.length === 0; children = childrenWith(words)) await setTimeout(20)
  for (const pid of children) process.kill(-pid, 'SIGKILL')
}
