import { execFileSync, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** Repositories that try to run a program when they are inspected. Any program that runs creates the mark file. */

export type Place = {
  /** The folder to inspect; usually the top of the repository. */
  folder: string
  readonly root: string
  /** A program that creates the mark and, as a filter, copies its input to its output. */
  readonly run: string
  readonly mark: string
}

export type HostileCase = {
  readonly name: string
  setUp(place: Place): void
  /** A shell command that makes plain git run the program in the folder. */
  readonly proof?: string
  /** The reason why plain git does not run the program; absent if it does. */
  readonly never?: string
  /** The environment of the server, if that is part of the attack. */
  env?(place: Place): Record<string, string>
  /** True if git refuses to read the repository, so that there are no changes to see. */
  readonly unreadable?: boolean
}

const identity = { GIT_AUTHOR_NAME: 'p', GIT_AUTHOR_EMAIL: 'p@example.com', GIT_COMMITTER_NAME: 'p' }
const plainEnv = {
  PATH: process.env.PATH ?? '',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  ...identity,
  GIT_COMMITTER_EMAIL: 'p@example.com',
}

export function git(folder: string, ...args: string[]): string {
  return execFileSync('git', args, { cwd: folder, env: plainEnv, encoding: 'utf8', stdio: 'pipe' })
}

let model: string | undefined

/** Creates the base repository. Its attributes assign a filter, a diff driver and a merge driver to every text file. */
function modelRepository(): string {
  if (model !== undefined) return model
  const folder = mkdtempSync(join(tmpdir(), 'parley-hostile-model-'))
  // No template is used, because every file is copied for every case.
  git(folder, 'init', '-q', '-b', 'main', '--template=')
  write(folder, { 'a.txt': 'a\n', '.gitattributes': '*.txt filter=evil diff=evil merge=evil\n' })
  git(folder, 'add', '-A')
  git(folder, 'commit', '-qm', 'first')
  git(folder, 'checkout', '-qb', 'side')
  write(folder, { 'a.txt': 'side\n' })
  git(folder, 'commit', '-qam', 'side')
  git(folder, 'checkout', '-q', 'main')
  write(folder, { 'a.txt': 'main\n' })
  git(folder, 'commit', '-qam', 'second')
  // The text has the same length as before, so that git must read the file to see that it differs.
  write(folder, { 'a.txt': 'edit\n', 'new.txt': 'new\n' })
  model = folder
  return folder
}

export function removeModel(): void {
  if (model !== undefined) rmSync(model, { recursive: true, force: true })
  model = undefined
}

export function createHostileFolder(setUp: HostileCase['setUp']): Place & Disposable {
  const root = mkdtempSync(join(tmpdir(), 'parley-hostile-'))
  const place = { root, folder: join(root, 'repository'), run: join(root, 'run'), mark: join(root, 'mark') }
  cpSync(modelRepository(), place.folder, { recursive: true })
  writeProgram(place.run, place.mark)
  setUp(place)
  return { ...place, [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }) }
}

export const ran = ({ mark }: Place) => existsSync(mark)

export function plainGitRuns(place: Place, proof: string, env: Record<string, string> = {}): boolean {
  rmSync(place.mark, { force: true })
  spawnSync('sh', ['-c', proof], {
    cwd: place.folder,
    env: { ...plainEnv, HOME: place.root, TERM: 'xterm', ...env },
    input: '',
    timeout: 20_000,
  })
  return ran(place)
}

export function writeProgram(path: string, mark: string): void {
  writeFileSync(path, `#!/bin/sh\ntouch '${mark}'\n[ $# -gt 0 ] || cat\n`)
  chmodSync(path, 0o755)
}

export function write(folder: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

export function setUpHooks(folder: string, place: Place, names: readonly string[]): void {
  mkdirSync(folder, { recursive: true })
  for (const name of names) writeProgram(join(folder, name), place.mark)
}

const quoted = (name: string) => `"${name.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
export const filterSection = (name: string, { run }: Place) => `[filter ${quoted(name)}]\n\tclean = ${run}\n`

/** A repository inside the folder, with changed files and a filter that creates the mark. */
export function setUpInner(place: Place, name: string): string {
  const inner = join(place.folder, name)
  cpSync(modelRepository(), inner, { recursive: true })
  appendFileSync(join(inner, '.git/config'), filterSection('evil', place))
  return inner
}

export const hostileConfig = (place: Place) =>
  `[core]\n\tfsmonitor = ${place.run}\n${filterSection('evil', place)}${filterSection('x=y', place)}`

/** Keys of the installed git whose names suggest that they name a program. */
export function programLikeKeys(): string[] {
  const sound =
    /(cmd|command|program|helper|editor|pager|askpass|hook|driver|textconv|clean|smudge|process|external|filter|tool|browser|proxy|tunnel|vcs|(upload|receive)pack|update|template|templatedir|fsmonitor|path|server|\.\*)>?$/i
  return git(tmpdir(), 'help', '-c')
    .split('\n')
    .filter((key) => /^[a-z]+\./i.test(key) && sound.test(key))
}
