import { ParleyError } from '@parley/protocol'

const primary = {
  busy: 5,
  locked: 6,
  readonly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  tooBig: 18,
  notADatabase: 26,
}

/** The only place that interprets SQLite's result codes. Other errors are returned unchanged. */
export function sqliteFailure(thrown: unknown, file: string): unknown {
  const code = primaryCode(thrown)
  if (code === undefined) return thrown
  const fail = (kind: 'busy' | 'internal_error' | 'too_large', message: string) =>
    new ParleyError(kind, message, { cause: thrown, details: { file, sqlite: code } })
  switch (code) {
    case primary.full:
      return fail(
        'busy',
        `There is no space left for ${file}. Nothing was lost: free some space and try again.`,
      )
    case primary.ioError:
      return fail(
        'busy',
        `${file} could not be read or written. Check that its disk works and has space, then try again.`,
      )
    case primary.busy:
    case primary.locked:
      return fail('busy', `${file} is in use by another program. Try again when it has finished.`)
    case primary.readonly:
      return fail(
        'internal_error',
        `${file} cannot be written. Check the permissions of the file and of its folder.`,
      )
    case primary.cannotOpen:
      return fail(
        'internal_error',
        `${file} cannot be opened. Check the permissions of the file and of its folder.`,
      )
    case primary.corrupt:
    case primary.notADatabase:
      return fail(
        'internal_error',
        `${file} is damaged or not a database. It was not changed: restore a backup, or move the file away to start with an empty database.`,
      )
    case primary.tooBig:
      return fail('too_large', `The data is too large for one row of ${file}.`)
    default:
      return fail(
        'internal_error',
        `${file} failed: ${thrown instanceof Error ? thrown.message : 'unknown'}.`,
      )
  }
}

/** Parses the JSON of a row. Parley wrote it, so it is valid unless the file is damaged. */
export function parseRow<Value>(json: string, what: string): Value {
  try {
    return JSON.parse(json) as Value
  } catch (cause) {
    throw new ParleyError(
      'internal_error',
      `The database cannot read ${what}: its row is damaged. Restore a backup of the data folder, or remove that row.`,
      { cause },
    )
  }
}

export function isLocked(thrown: unknown): boolean {
  const code = primaryCode(thrown)
  return code === primary.busy || code === primary.locked
}

/** `errcode` is SQLite's extended result code; its low byte is the primary code. */
function primaryCode(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error) || !('errcode' in thrown) || typeof thrown.errcode !== 'number')
    return undefined
  return thrown.errcode & 0xff
}
