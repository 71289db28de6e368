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
