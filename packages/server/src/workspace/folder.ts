import { stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { ParleyError } from '@parley/protocol'

/** The absolute path of a folder that a session can work in, or a ParleyError that says why it cannot. */
export async function checkFolder(cwd: string): Promise<string> {
  const path = resolve(cwd === '~' || cwd.startsWith('~/') ? homedir() + cwd.slice(1) : cwd)
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => error)
  if (found instanceof Error) {
    const why = found.code === 'ENOENT' ? 'does not exist' : `cannot be read (${found.code})`
    throw new ParleyError('validation_error', `The folder ${path} ${why}. Give an existing folder as cwd.`, {
      details: { cwd: path },
    })
  }
  if (!found.isDirectory()) {
    throw new ParleyError('validation_error', `${path} is not a folder. Give a folder as cwd.`, {
      details: { cwd: path },
    })
  }
  return path
}
