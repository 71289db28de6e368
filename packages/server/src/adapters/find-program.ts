import { accessSync, constants, readFileSync, statSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import type { Environment } from './environment.ts'

export type ProgramSearch = {
  /** The name of the program, or a path to it. */
  readonly name: string
  /** Whose PATH is looked at. */
  readonly env: Environment
  /** Where Parley installs agents; what it installed itself comes first. */
  readonly installed?: { readonly folder: string | undefined; readonly agent: string }
}

/** Where an agent's program is, or nothing. */
export function findProgram({ name, env, installed }: ProgramSearch): string | undefined {
  if (isAbsolute(name)) return isProgram(name) ? name : undefined
  const own = installed?.folder ? [binFolder(installed.folder, installed.agent)] : []
  // The program is started in the folder of a session: a relative entry would mean a folder in there.
  const folders = [...own, ...(env.PATH ?? '').split(delimiter).filter(isAbsolute)]
  return folders.map((folder) => join(folder, name)).find(isProgram)
}

/** The folder that an agent is installed into: a small npm project of its own. */
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

/** PATH with the folder of this Node first: programs that begin with `#!/usr/bin/env node` need one that is new enough. */
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
