import { ParleyError } from '@parley/protocol'

/** Resolves true if `work` resolves within `ms`, otherwise false. Rejects if `work` rejects before that. */
export function resolvesWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  const timeout = Promise.withResolvers<boolean>()
  const timer = setTimeout(timeout.resolve, ms, false)
  return Promise.race([work.then(() => true), timeout.promise]).finally(() => clearTimeout(timer))
}

/**
 * Resolves with the result of `work`. Rejects as soon as `signal` aborts: with its reason if that is a ParleyError,
 * otherwise with `message`.
 */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal, message: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () =>
      reject(signal.reason instanceof ParleyError ? signal.reason : new ParleyError('cancelled', message))
    if (signal.aborted) {
      work.catch(() => undefined)
      return abort()
    }
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
