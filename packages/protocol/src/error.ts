import { z } from 'zod'

/** All error codes. The list is closed: a client may switch over it. */
export const errorCodes = [
  'validation_error',
  'unauthorized',
  'forbidden',
  'not_found',
  'conflict',
  'not_supported',
  'agent_not_found',
  'agent_not_signed_in',
  'agent_failed',
  'cancelled',
  'too_large',
  'rate_limited',
  'busy',
  'internal_error',
] as const
export const ErrorCode = z.enum(errorCodes)
export type ErrorCode = z.infer<typeof ErrorCode>

/** `message` says what to do. No code may branch on it: branch on `code` and `details`. */
export const ErrorInfo = z.object({
  code: ErrorCode,
  message: z.string(),
  details: z.record(z.string(), z.unknown()).optional(),
})
export type ErrorInfo = z.infer<typeof ErrorInfo>

export const ErrorBody = z.object({ error: ErrorInfo })
export type ErrorBody = z.infer<typeof ErrorBody>

/** Marks the prototype of the class. A registered symbol is the same in every copy of this package. */
const mark = Symbol.for('parley.error')

/**
 * The one error class of Parley. Anything else that is thrown is a defect, and reaches clients as
 * `internal_error`. `instanceof` also holds for errors of other copies of this package: an adapter that is installed on
 * its own has a copy.
 */
export class ParleyError extends Error {
  static {
    Object.defineProperty(ParleyError.prototype, mark, { value: true })
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore-start lint/complexity/noThisInStatic: a subclass has instances of its own
    if (this !== ParleyError) return super[Symbol.hasInstance](value)
    // biome-ignore-end lint/complexity/noThisInStatic: a subclass has instances of its own
    return typeof value === 'object' && value !== null && mark in value
  }

  override readonly name = 'ParleyError'
  readonly code: ErrorCode
  readonly details: Record<string, unknown> | undefined

  constructor(
    code: ErrorCode,
    message: string,
    options: { details?: Record<string, unknown>; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.details = options.details
  }

  toInfo(): ErrorInfo {
    return { code: this.code, message: this.message, ...(this.details && { details: this.details }) }
  }

  static from(info: ErrorInfo): ParleyError {
    return new ParleyError(info.code, info.message, info.details ? { details: info.details } : {})
  }
}

export function hasCode(thrown: unknown, ...codes: ErrorCode[]): thrown is ParleyError {
  return thrown instanceof ParleyError && codes.includes(thrown.code)
}

/** The error that a client may see: a ParleyError unchanged, any other thrown value without its message. */
export function errorInfoOf(thrown: unknown): ErrorInfo {
  if (thrown instanceof ParleyError) return thrown.toInfo()
  return { code: 'internal_error', message: 'Something went wrong inside Parley; its log has the details.' }
}

/** A zod error as a sentence that a person can act on, with the issues as data. */
export function validationError(what: string, error: z.ZodError): ParleyError {
  const issues = error.issues
    .flatMap((issue) => within(issue))
    .map(({ path, message }) => ({ path: path.join('.'), message }))
  const first = issues[0]
  const where = first?.path ? ` at ${first.path}` : ''
  return new ParleyError('validation_error', `${what} is not valid${where}: ${first?.message ?? 'unknown'}`, {
    details: { issues },
  })
}

type Issue = z.ZodError['issues'][number]

/**
 * The issues to report for one issue of zod. For a union, these are the issues of the first member that has
 * the same type as the value.
 */
function within(
  issue: Issue,
  before: readonly PropertyKey[] = [],
): { path: PropertyKey[]; message: string }[] {
  const path = [...before, ...issue.path]
  const isOfItsKind = (issues: readonly { path: PropertyKey[]; code?: string | undefined }[]) =>
    issues.every((one) => one.path.length > 0 || one.code !== 'invalid_type')
  const meant = issue.code === 'invalid_union' ? issue.errors.find(isOfItsKind) : undefined
  return meant && meant.length > 0
    ? meant.flatMap((one) => within(one as Issue, path))
    : [{ path, message: issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? '') : issue.message }]
}

export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
