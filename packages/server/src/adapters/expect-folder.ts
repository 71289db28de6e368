import { statSync } from 'node:fs'
import { ParleyError } from '@parley/protocol'

/** The folder of a session may have gone since the session was made. */
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
