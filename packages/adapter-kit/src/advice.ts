import { realpathSync } from 'node:fs'
import { basename, delimiter, join, sep } from 'node:path'
import type { AgentPackage } from './agent-adapter.ts'
import type { Environment } from './environment.ts'
import { findProgram } from './find-program.ts'

/** Advice for people: commands in the form in which they can be typed on this machine. */

/** Formats a command line of Parley's own program. `words` are the subcommand and its arguments. */
export type ParleyCommand = (words: string) => string

export type InstallAdvice = {
  readonly agent: string
  readonly install: AgentPackage
  /** The program that the person configured. If set, Parley does not use a program from the agents folder. */
  readonly executable?: string | undefined
  /** The agents folder. If undefined, Parley does not search for programs that it installed. */
  readonly agentsFolder?: string | undefined
  readonly parley?: ParleyCommand | undefined
}

/** Advice on installing the tested version of an agent, even in place of another version. */
export function adviseInstall(advice: InstallAdvice): string {
  const { agent, executable } = advice
  return executable === undefined ? `Install it: ${installCommand(advice)}` : configAdvice(agent)
}

export function installCommand({ agent, install, agentsFolder, parley = plain }: InstallAdvice): string {
  return agentsFolder === undefined
    ? `npm install ${install.library ? '' : '-g '}${install.package}@${install.version}`
    : parley(`agents install ${agent}`)
}

export function adviseMissing(advice: InstallAdvice): string {
  const { executable } = advice
  return executable === undefined
    ? adviseInstall(advice)
    : `There is no program "${executable}". ${adviseInstall(advice)}`
}

export function configAdvice(agent: string): string {
  return `Correct agents.${agent}.command in config.json, or remove it.`
}

const plain: ParleyCommand = (words) => `parley ${words}`

/** A program as a person types it: its name if the name is on their PATH, otherwise its absolute path. */
export function programAsTyped(path: string, env: Environment): string {
  const name = basename(path)
  const found = findForPeople(name, env)
  return found !== undefined && isSame(found, path) ? name : shellWord(path)
}

/**
 * The program name to type in a terminal: the name if the person's PATH has it, otherwise the path that Parley runs.
 */
export function programForTerminal(name: string, path: string | undefined, env: Environment): string {
  return findForPeople(name, env) === undefined ? (path ?? name) : name
}

function findForPeople(name: string, env: Environment): string | undefined {
  return findProgram({ name, env: { PATH: pathOfPeople(env.PATH ?? '') } })
}

/**
 * Removes the `node_modules/.bin` folders, which npm puts on the PATH of its scripts. The PATH of a person's
 * own terminal does not have them.
 */
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
