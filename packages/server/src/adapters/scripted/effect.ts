import { appendFileSync, writeFileSync } from 'node:fs'
import { relative, resolve, sep } from 'node:path'
import { messageOf } from '@parley/protocol'
import type { Effect } from './script.ts'

/**
 * The only side effect of a script: it appends to a file in its folder, or overwrites it. `path` and `text` of an
 * edited input replace those of the script. Returns the reason for a failure, or undefined on success.
 */
export function applyEffect(cwd: string, effect: Effect, edited: unknown): string | undefined {
  const { path, text } = { ...effect.writeFile, ...stringsOf(edited) }
  const file = resolve(cwd, path)
  const within = relative(cwd, file)
  if (within === '' || within === '..' || within.startsWith(`..${sep}`))
    return `${path} is not in this folder.`
  try {
    if (effect.writeFile.anew) writeFileSync(file, text)
    else appendFileSync(file, text)
    return undefined
  } catch (error) {
    return `${path} could not be written: ${messageOf(error)}`
  }
}

function stringsOf(edited: unknown): { path?: string; text?: string } {
  if (typeof edited !== 'object' || edited === null) return {}
  const { path, text } = edited as { path?: unknown; text?: unknown }
  return { ...(typeof path === 'string' && { path }), ...(typeof text === 'string' && { text }) }
}
