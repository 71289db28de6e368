import { ParleyError } from '@parley/protocol'
import { tlsFailure } from './tls.ts'

/** Codes of the driver for a connection that was never made, so that nothing was sent on it. */
const unreachable = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH', 'CONNECT_TIMEOUT'])
/** SQLSTATE classes of transient failures. */
const passing = /^(08|40|53|55|57)/
/** SQLSTATE codes and classes of errors that a person must resolve, each with a message that gives the remedy. */
const mistakes: readonly (readonly [code: RegExp, text: (code: string, message: string) => string])[] = [
  [
    /^28/,
    (code) =>
      `PostgreSQL refuses access (${code}). Check the user and the password in PARLEY_DATABASE_URL, and pg_hba.conf of PostgreSQL.`,
  ],
  [
    /^3D000$/,
    (code) =>
      `The database that PARLEY_DATABASE_URL names does not exist (${code}). Create it with CREATE DATABASE, or correct the name.`,
  ],
  [
    /^42501$/,
    (code) =>
      `The user of PARLEY_DATABASE_URL lacks a right (${code}). Make that user the owner of the database, or grant the right.`,
  ],
  [
    /^42P07$/,
    (code, message) =>
      `The schema of Parley in this database has tables of another program (${code}: ${message}). Use another database, or rename that schema.`,
  ],
]

/** Thrown when a statement was not answered in time. It may still have run. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
}

/** Returns the error for callers. It never contains the address or the password of the database. */
export function postgresFailure(thrown: unknown): unknown {
  if (thrown instanceof ParleyError) return thrown
  const code = thrown instanceof NoAnswer ? 'NO_ANSWER' : codeOf(thrown)
  const fail = (kind: 'busy' | 'internal_error', message: string) =>
    new ParleyError(kind, message, { details: { ...(code !== undefined && { postgres: code }) } })
  if (thrown instanceof NoAnswer)
    return fail('busy', 'PostgreSQL did not answer in time. Nothing was lost: try again.')
  if (code === undefined) return thrown
  const untrusted = isAnswer(thrown) ? undefined : tlsFailure(code)
  if (untrusted !== undefined) return fail('internal_error', untrusted)
  const message = thrown instanceof Error ? thrown.message : ''
  const mistake = isAnswer(thrown) ? mistakes.find(([pattern]) => pattern.test(code)) : undefined
  if (mistake) return fail('internal_error', mistake[1](code, message))
  if (code === '53300')
    return fail(
      'busy',
      'PostgreSQL has no connection left (53300). Raise max_connections, or the CONNECTION LIMIT of the user or the database if one is set; or try again later.',
    )
  if (!isAnswer(thrown) || passing.test(code))
    return fail('busy', `PostgreSQL cannot be reached or is busy (${code}). Nothing was lost: try again.`)
  return fail('internal_error', `PostgreSQL failed (${code}): ${message}`)
}

/** True if a failed statement may have been committed, because its answer was lost. */
export function mayHaveRun(thrown: unknown): boolean {
  if (thrown instanceof ParleyError) return false
  if (thrown instanceof NoAnswer) return true
  const code = codeOf(thrown)
  if (code === undefined) return false
  // PostgreSQL may report 57P0x for a connection that it ends after a commit, before the answer was sent.
  if (isAnswer(thrown)) return code.startsWith('57P') || code.startsWith('08')
  return !unreachable.has(code) && tlsFailure(code) === undefined
}

/** True if the connections can no longer be used. */
export function isConnectionLost(thrown: unknown): boolean {
  const code = codeOf(thrown) ?? ''
  return mayHaveRun(thrown) || unreachable.has(code) || (!isAnswer(thrown) && tlsFailure(code) !== undefined)
}

export function isUniqueViolation(thrown: unknown, constraint: string): boolean {
  return codeOf(thrown) === '23505' && (thrown as { constraint_name?: string }).constraint_name === constraint
}

function codeOf(thrown: unknown): string | undefined {
  const code = thrown instanceof Error ? (thrown as Error & { code?: unknown }).code : undefined
  return typeof code === 'string' ? code : undefined
}

/** True if PostgreSQL reported the error. The code alone is not enough: EPIPE has the form of an SQLSTATE. */
function isAnswer(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.name === 'PostgresError'
}
