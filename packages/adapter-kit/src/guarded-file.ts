import { realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { ParleyError } from '@parley/protocol'

/**
 * Throws if another user of this machine, except root, can change a file that this process is about to load as code. A
 * folder that only this user can enter protects everything inside it.
 */
export function expectGuarded(file: string): void {
  const own = process.getuid?.()
  if (own === undefined) return
  for (const path of [...parents(realpathSync(file)), realpathSync(file)]) {
    const { uid, mode } = statSync(path)
    const isFolder = (mode & 0o170000) === 0o040000
    if (uid !== own && uid !== 0)
      throw refusal(file, `${path} belongs to another user. Change its owner, or run Parley as that user.`)
    if (isFolder && uid === own && (mode & 0o077) === 0) return
    const isSticky = isFolder && (mode & 0o1000) !== 0
    if ((mode & 0o022) !== 0 && !isSticky)
      throw refusal(file, `other users can write to ${path}. Run: chmod go-w ${path}`)
  }
}

/** The folders that contain a path, the outermost first. */
function parents(path: string): string[] {
  const folder = dirname(path)
  return folder === path ? [] : [...parents(folder), folder]
}

function refusal(file: string, why: string): ParleyError {
  return new ParleyError('agent_failed', `Parley does not load ${file}, because ${why}`, {
    details: { reason: 'unguarded', file },
  })
}
