import { ParleyError } from '@parley/protocol'
import { visible } from './format.logic.ts'

export type FolderProblem = {
  readonly text: string
  /** The server refused to start a session in the folder. The folder field then takes the focus. */
  readonly refused?: boolean
}

/** The reason why the server refused the folder, to show at the folder field. Undefined for other errors. */
export function folderProblem(thrown: unknown): FolderProblem | undefined {
  if (!(thrown instanceof ParleyError) || thrown.code !== 'validation_error') return undefined
  return typeof thrown.details?.cwd === 'string'
    ? { text: visible(thrown.message), refused: true }
    : undefined
}

/**
 * The reason why a typed folder cannot be listed. Undefined if the server did not answer: that error is shown when the session
 * is started.
 */
export function missingProblem(thrown: unknown): FolderProblem | undefined {
  if (!(thrown instanceof ParleyError)) return undefined
  return ['not_found', 'forbidden', 'validation_error'].includes(thrown.code)
    ? { text: visible(thrown.message) }
    : undefined
}

/** The problem with a relative path, which would start at the server's working directory. Undefined for a full path. */
export function relativeProblem(folder: string): FolderProblem | undefined {
  return /^(\/|~$|~\/|[a-zA-Z]:[\\/])/.test(folder)
    ? undefined
    : { text: 'Enter a full path, or one that starts with ~/.' }
}
