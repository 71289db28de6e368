import { type ErrorCode, type ErrorInfo, errorInfoOf, ParleyError } from '@parley/protocol'
import type { Logger } from 'pino'

/** The HTTP status of each error code. Only this file maps errors to statuses. */
export const statusOf: Readonly<Record<ErrorCode, number>> = {
  validation_error: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  agent_not_found: 404,
  conflict: 409,
  cancelled: 409,
  agent_not_signed_in: 409,
  too_large: 413,
  not_supported: 422,
  rate_limited: 429,
  internal_error: 500,
  agent_failed: 502,
  busy: 503,
}

export type Problem = {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: string
}

/** The answer for a thrown value. Defects are logged with their stack, which clients do not see. */
export function problemOf(thrown: unknown, logger: Logger): Problem {
  const info = errorInfoOf(thrown)
  if (!(thrown instanceof ParleyError)) logger.error({ err: thrown }, 'defect')
  else if (statusOf[info.code] >= 500) logger.warn({ err: thrown }, 'failure')
  return problem(info)
}

export function problem(
  info: ErrorInfo,
  special: { status?: number; headers?: Record<string, string> } = {},
): Problem {
  const status = special.status ?? statusOf[info.code]
  return {
    status,
    headers: {
      'Content-Type': 'application/json; charset=UTF-8',
      ...(status === 401 && { 'WWW-Authenticate': 'Bearer' }),
      ...special.headers,
    },
    body: JSON.stringify({ error: info }),
  }
}

export function problemResponse({ status, headers, body }: Problem): Response {
  return new Response(body, { status, headers })
}
