import { messageOf, ParleyError } from '@parley/protocol'

type Kind =
  | 'AI_NoSuchModelError'
  | 'AI_InvalidPromptError'
  | 'AI_LoadAPIKeyError'
  | 'AI_UnsupportedFunctionalityError'
  | 'AI_APICallError'

/**
 * A ParleyError that callers of the AI SDK know as one of theirs: `NoSuchModelError.isInstance(error)` and so on look for a
 * mark, not for a class. Nothing is ever retryable: a second try would be a second turn, and the first may have done things.
 */
export class LanguageModelError extends ParleyError {
  readonly isRetryable = false

  constructor(error: ParleyError, kind: Kind, fields: Readonly<Record<string, unknown>>) {
    super(error.code, error.message, { cause: error, ...(error.details && { details: error.details }) })
    const marks = { [Symbol.for('vercel.ai.error')]: true, [Symbol.for(`vercel.ai.error.${kind}`)]: true }
    Object.assign(this, fields, marks)
  }
}

/** Whatever was thrown, as the AI SDK's callers expect it. What is not ours stays as it is. */
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

/** As `fetch` rejects: with the reason, if that is an error. */
export function abortError(signal: AbortSignal): unknown {
  const { reason } = signal
  return reason instanceof Error || reason instanceof DOMException
    ? reason
    : new DOMException(reason === undefined ? 'Aborted.' : messageOf(reason), 'AbortError')
}
