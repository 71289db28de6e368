import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export const git = (cwd: string, ...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=p', '-c', 'user.email=p@example.com', ...args], {
    cwd,
    stdio: 'pipe',
    maxBuffer: 64 * 2 ** 20,
  })

const filesInFolder = 100
const lineBytes = 64

/** The path of a file in the repository, by its number. */
export const pathOf = (index: number) =>
  `part${Math.floor(index / filesInFolder)}/file${index % filesInFolder}.txt`

/** Text of a file of about 5 KB. */
export const textOf = (index: number) =>
  Array.from({ length: 80 }, (_, line) => `${index} ${line} `.padEnd(lineBytes, 'abcdef ')).join('\n')

/** A repository of files of about 5 KB, in one commit. */
export function fillRepository(folder: string, files: number): void {
  for (let index = 0; index < files; index++) {
    const path = join(folder, pathOf(index))
    if (index % filesInFolder === 0) mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, textOf(index))
  }
  git(folder, 'init', '-q', '-b', 'main')
  git(folder, 'add', '-A')
  git(folder, 'commit', '-qm', 'first')
}
