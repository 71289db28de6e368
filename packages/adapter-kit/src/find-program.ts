import { accessSync, constants, readFileSync, statSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import type { Environment } from './environment.ts'

export type ProgramSearch = {
  /** The name of the program, or a path to it. */
  readonly name: string
  readonly env: Environment
  /** The agents folder and the id of the agent. A program that Parley installed takes precedence. */
  readonly installed?: { readonly folder: string | undefined; readonly agent: string }
}

/** The path of an agent's program; undefined if there is none. */
export function findProgram({ name, env, installed }: ProgramSearch): string | undefined {
  if (isAbsolute(name)) return isProgram(name) ? name : undefined
  const own = installed?.folder ? [binFolder(installed.folder, installed.agent)] : []
  // Only absolute entries of the PATH are searched: the program starts in the session's folder, so a relative entry
  // would name a folder inside that folder.
  const folders = [...own, ...(env.PATH ?? '').split(delimiter).filter(isAbsolute)]
  return folders.map((folder) => join(folder, name)).find(isProgram)
}

/** The folder that an agent is installed into. It is a separate npm project. */
export function agentFolder(agentsFolder: string, agent: string): string {
  return join(agentsFolder, agent)
}

function binFolder(agentsFolder: string, agent: string): string {
  return join(agentFolder(agentsFolder, agent), 'node_modules', '.bin')
}

/** The version of an npm package that Parley installed for an agent. */
export function installedVersion(agentsFolder: string, agent: string, name: string): string | undefined {
  try {
    const file = join(agentFolder(agentsFolder, agent), 'node_modules', name, 'package.json')
    return (JSON.parse(readFileSync(file, 'utf8')) as { version?: string }).version
  } catch {
    return undefined
  }
}

export function isOlder(version: string, than: string): boolean {
  return version.localeCompare(than, 'en', { numeric: true }) < 0
}

/** PATH with the folder of this Node first: scripts with `#!/usr/bin/env node` need a Node that is new enough. */
export function pathWithNode(path: string | undefined): string {
  return [dirname(process.execPath), ...(path ? [path] : [])].join(delimiter)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
