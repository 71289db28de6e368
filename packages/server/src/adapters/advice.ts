import { realpathSync } from 'node:fs'
import { basename, delimiter, join, sep } from 'node:path'
import type { Environment } from './environment.ts'
import { findProgram } from './find-program.ts'

/** How a person gets further: in commands that work on this machine, as they are typed there. */

/** A command of Parley's own program: `words` are the command and its arguments. */
export type ParleyCommand = (words: string) => string

export type InstallAdvice = {
  readonly agent: string
  readonly install: { readonly package: string; readonly version: string }
  /** The program that the person chose themselves: what Parley installs is then not used. */
  readonly executable?: string | undefined
  /** Where Parley installs agents. Without it, what Parley installs would not be found. */
  readonly agentsFolder: string | undefined
  readonly parley: ParleyCommand | undefined
}

/** What brings an agent, at the version that is known to work; also in place of another version. */
export function howToGet({
  agent,
  install,
  executable,
  agentsFolder,
  parley = plain,
}: InstallAdvice): string {
  if (executable !== undefined) return correctIt(agent)
  const command =
    agentsFolder === undefined
      ? `npm install -g ${install.package}@${install.version}`
      : parley(`agents install ${agent}`)
  return `Install it: ${command}`
}

/** The same for one whose program is not there. */
export function howToFind(advice: InstallAdvice): string {
  const { executable } = advice
  return executable === undefined
    ? howToGet(advice)
    : `There is no program "${executable}". ${howToGet(advice)}`
}

export function correctIt(agent: string): string {
  return `Correct agents.${agent}.command in config.json, or remove it.`
}

const plain: ParleyCommand = (words) => `parley ${words}`

/** A program as a person types it: by its name if their PATH leads to it, else by its whole path. */
export function programAsTyped(path: string, env: Environment): string {
  const name = basename(path)
  const found = findForPeople(name, env)
  return found !== undefined && isSame(found, path) ? name : shellWord(path)
}

/** The program for a terminal: a person's own if they have one by that name, else the one that Parley runs. */
export function programForTerminal(name: string, path: string | undefined, env: Environment): string {
  return findForPeople(name, env) === undefined ? (path ?? name) : name
}

function findForPeople(name: string, env: Environment): string | undefined {
  return findProgram({ name, env: { PATH: pathOfPeople(env.PATH ?? '') } })
}

/** npm puts folders of projects before the PATH of whoever calls it; in their own terminal they are not there. */
function pathOfPeople(path: string): string {
  const ofProject = join('node_modules', '.bin')
  return path
    .split(delimiter)
    .filter((folder) => !folder.endsWith(sep + ofProject))
    .join(delimiter)
}

function isSame(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other)
  } catch {
    return false
  }
}

export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
