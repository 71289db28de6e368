import { RequestError } from '@agentclientprotocol/sdk/unstable'
import { type ErrorCode, type ErrorInfo, errorInfoOf } from '@parley/protocol'

/** The ACP error code for each of Parley's codes. ACP has few codes, so `data.code` always contains Parley's code. */
const numbers: Partial<Record<ErrorCode, number>> = {
  validation_error: -32_602,
  not_supported: -32_602,
  too_large: -32_602,
  agent_not_found: -32_602,
  conflict: -32_600,
  busy: -32_600,
  rate_limited: -32_600,
  not_found: -32_002,
  agent_not_signed_in: -32_000,
  cancelled: -32_800,
}
const internal = -32_603

export function requestError({ code, message, details }: ErrorInfo): RequestError {
  return new RequestError(numbers[code] ?? internal, message, { ...details, code })
}

export function toRequestError(thrown: unknown): RequestError {
  return thrown instanceof RequestError ? thrown : requestError(errorInfoOf(thrown))
}
