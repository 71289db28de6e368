import { statSync } from 'node:fs'
import { ParleyError } from '@parley/protocol'

/** Throws if the session's folder does not exist: it may have been removed since the session was created. */
export function expectFolder(cwd: string): void {
  if (isFolder(cwd)) return
  const message = `The folder ${cwd} does not exist. Put it back, or begin a session in another.`
  throw new ParleyError('validation_error', message, { details: { cwd } })
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}
