import { ParleyError } from '@parley/protocol'

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
