import { ParleyError } from '@parley/protocol'
import { visible } from '../page/words.logic.ts'

export type FolderProblem = {
  readonly text: string
  /** A session was to be started there: the focus goes to the field. */
  readonly refused?: boolean
}

/** Why the folder cannot be worked in, if that is what was refused: it is said at its field, not above the page. */
export function folderProblem(thrown: unknown): FolderProblem | undefined {
  if (!(thrown instanceof ParleyError) || thrown.code !== 'validation_error') return undefined
  return typeof thrown.details?.cwd === 'string'
    ? { text: visible(thrown.message), refused: true }
    : undefined
}

/** Why a folder that was typed cannot be listed. Nothing where the server was not heard: starting the session says why. */
export function missingProblem(thrown: unknown): FolderProblem | undefined {
  if (!(thrown instanceof ParleyError)) return undefined
  return ['not_found', 'forbidden', 'validation_error'].includes(thrown.code)
    ? { text: visible(thrown.message) }
    : undefined
}

/** A path that is not whole would be taken from wherever the server was started. */
export function relativeProblem(folder: string): FolderProblem | undefined {
  return /^(\/|~$|~\/|[a-zA-Z]:[\\/])/.test(folder)
    ? undefined
    : { text: 'Enter a full path, or one that starts with ~/.' }
}
