import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Helpers for tests that inspect processes: those of Codex, of its replacements, and of their children. */

export type Process = { readonly pid: number; readonly parent: number; readonly line: string }

/** The processes of this machine with `words` in their command line. */
export function processes(words = ''): Process[] {
  const lines = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n')
  return lines
    .filter((line) => line.includes(words))
    .map((line) => {
      const [pid, parent, ...rest] = line.trim().split(/\s+/)
      return { pid: Number(pid), parent: Number(parent), line: rest.join(' ') }
    })
}

export function programs(): Process[] {
  return processes('codex app-server').filter(({ parent }) => parent === process.pid)
}

/** The process id of the only Codex process, which leads its process group. */
export const programPid = () => programs()[0]?.pid ?? 0

let marks = 0
/** Returns a word that no other test uses, by which a command can be found. */
export const mark = () => `parley-mark-${process.pid}-${++marks}`

/** Polls until `find` returns a value; only the test's own time limit applies. */
export async function until<Found>(find: () => Found | undefined | false): Promise<Found> {
  for (;;) {
    const found = find()
    if (found !== undefined && found !== false) return found
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Writes a program to use in place of Codex. */
export function script(folder: string, text: string): string {
  const path = join(mkdtempSync(join(folder, 'program-')), 'codex')
  writeFileSync(path, text)
  chmodSync(path, 0o755)
  return path
}
