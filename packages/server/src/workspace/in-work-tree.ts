import { join, relative } from 'node:path'
import { ParleyError } from '@parley/protocol'

export type Place = { readonly folder: string; readonly workTree: string }

/**
 * Converts a path in the folder to a path in the work tree. Throws ParleyError `validation_error` for a path that
 * leads out of the folder.
 */
export function inWorkTree({ folder, workTree }: Place, path: string): string {
  const isInside = path !== '' && !/^\/|\0|(^|\/)(\.\.?|\.git)(\/|$)/i.test(path)
  if (isInside) return join(relative(workTree, folder), path)
  throw new ParleyError('validation_error', `${JSON.stringify(path)} is not a path inside the folder.`)
}
