import { join, relative } from 'node:path'
import { ParleyError } from '@parley/protocol'

/** A folder, and the work tree that it belongs to. */
export type Place = { readonly folder: string; readonly workTree: string }

/** The path in the work tree of a path in the folder. Throws ParleyError `validation_error` for one that leaves the folder. */
export function inWorkTree({ folder, workTree }: Place, path: string): string {
  const isInside = path !== '' && !/^\/|\0|(^|\/)(\.\.?|\.git)(\/|$)/i.test(path)
  if (isInside) return join(relative(workTree, folder), path)
  throw new ParleyError('validation_error', `${JSON.stringify(path)} is not a path inside the folder.`)
}
