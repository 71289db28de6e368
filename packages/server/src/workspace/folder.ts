import { realpath, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { ParleyError } from '@parley/protocol'
import type { FolderProject } from './project.ts'

/**
 * The real, absolute path of a folder that a session can work in. Throws a ParleyError with the reason if a session
 * cannot work there.
 */
export async function checkFolder(cwd: string): Promise<string> {
  const given = resolve(cwd === '~' || cwd.startsWith('~/') ? homedir() + cwd.slice(1) : cwd)
  const found = await look(given).catch((error: NodeJS.ErrnoException) => error)
  if (found instanceof Error) {
    const why = found.code === 'ENOENT' ? 'does not exist' : `cannot be read (${found.code})`
    throw new ParleyError('validation_error', `The folder ${given} ${why}. Give an existing one.`, {
      details: { cwd: given },
    })
  }
  if (!found.isFolder) {
    throw new ParleyError('validation_error', `${given} is not a folder. Give an existing one.`, {
      details: { cwd: given },
    })
  }
  return found.path
}

async function look(given: string): Promise<{ path: string; isFolder: boolean }> {
  const path = await realpath(given)
  return { path, isFolder: (await stat(path)).isDirectory() }
}

// The code that finds repositories is loaded on first use, because a server does not need it at its start.
const repositories = () => import('./project.ts')

/** The project of a folder, which must be a real path. */
export async function projectOf(folder: string): Promise<FolderProject> {
  return (await repositories()).findProject(folder)
}

/** The checked-out branch of a folder, read from files without starting a process. Undefined if it is unknown. */
export async function branchOf(folder: string): Promise<string | undefined> {
  return (await repositories()).branchOf(folder)
}
