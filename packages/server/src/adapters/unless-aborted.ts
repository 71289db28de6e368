import { ParleyError } from '@parley/protocol'

/** The result, or a rejection as soon as `signal` aborts: with its reason if that says what happened, or `message`. */
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
