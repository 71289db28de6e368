import { messageOf, ParleyError } from '@parley/protocol'

type Kind =
  | 'AI_NoSuchModelError'
  | 'AI_InvalidPromptError'
  | 'AI_LoadAPIKeyError'
  | 'AI_UnsupportedFunctionalityError'
  | 'AI_APICallError'

/**
 * A ParleyError that the AI SDK recognises: checks such as `NoSuchModelError.isInstance(error)` look for a marker, not
 * for a class. It is never retryable, because a retry would be a second turn after a turn that may have had effects.
 */
export class LanguageModelError extends ParleyError {
  readonly isRetryable = false

  constructor(error: ParleyError, kind: Kind, fields: Readonly<Record<string, unknown>>) {
    super(error.code, error.message, { cause: error, ...(error.details && { details: error.details }) })
    const marks = { [Symbol.for('vercel.ai.error')]: true, [Symbol.for(`vercel.ai.error.${kind}`)]: true }
    Object.assign(this, fields, marks)
  }
}

/**
 * Converts anything thrown into the error that callers of the AI SDK expect. Errors that are not Parley's are
 * returned unchanged.
 */
export function modelError(thrown: unknown, modelId: string): unknown {
  if (!(thrown instanceof ParleyError) || thrown instanceof LanguageModelError) return thrown
  switch (thrown.code) {
    case 'agent_not_found':
      return new LanguageModelError(thrown, 'AI_NoSuchModelError', { modelId, modelType: 'languageModel' })
    case 'agent_not_signed_in':
      return new LanguageModelError(thrown, 'AI_LoadAPIKeyError', {})
    case 'not_supported': {
      const { capability, option } = thrown.details ?? {}
      const functionality = capability ?? option ?? thrown.message
      return new LanguageModelError(thrown, 'AI_UnsupportedFunctionalityError', { functionality })
    }
    case 'agent_failed':
    case 'rate_limited':
    case 'busy':
      return new LanguageModelError(thrown, 'AI_APICallError', {
        url: `parley:${modelId}`,
        requestBodyValues: {},
      })
    default:
      return thrown
  }
}

export function invalidPrompt(message: string, prompt: unknown): LanguageModelError {
  const error = new ParleyError('validation_error', message)
  return new LanguageModelError(error, 'AI_InvalidPromptError', { prompt })
}

/** The error of an aborted call, as for `fetch`: the reason if it is an error, else an `AbortError`. */
export function abortError(signal: AbortSignal): unknown {
  const { reason } = signal
  return reason instanceof Error || reason instanceof DOMException
    ? reason
    : new DOMException(reason === undefined ? 'Aborted.' : messageOf(reason), 'AbortError')
}
