import { ParleyError } from '@parley/protocol'

/** The result, or a rejection as soon as `signal` aborts. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () =>
      reject(
        signal.reason instanceof ParleyError
          ? signal.reason
          : new ParleyError('cancelled', 'Cancelled while OpenCode was started.'),
      )
    if (signal.aborted) {
      work.catch(() => undefined)
      return abort()
    }
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
