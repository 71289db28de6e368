import { ParleyError } from '@parley/protocol'
import { createBackoff } from './backoff.ts'
import type { Clock } from './clock.ts'
import { cancelled, isUnreachable } from './http.ts'
import type { Socket } from './socket.ts'

export type RetryOptions = {
  readonly clock: Clock
  /**
   * The wait before the next attempt ends when this socket opens, because the server is then reachable again.
   */
  readonly socket: Socket
  readonly signal?: AbortSignal | undefined
  /** If true, also retries when the server is busy. */
  readonly busyToo?: boolean
  readonly onUnreachable?: (error: ParleyError) => void
}

/** Repeats the call until the server answers, even with a refusal, or the signal fires. */
export async function untilReached<Reply>(
  attempt: () => Promise<Reply>,
  options: RetryOptions,
): Promise<Reply> {
  const backoff = createBackoff()
  for (;;) {
    if (options.signal?.aborted) throw cancelled(options.signal)
    try {
      return await attempt()
    } catch (thrown) {
      if (!isUnreachable(thrown) && !(options.busyToo && isBusy(thrown))) throw thrown
      options.onUnreachable?.(thrown)
    }
    await pause(backoff.next(), options)
  }
}

function isBusy(thrown: unknown): thrown is ParleyError {
  return thrown instanceof ParleyError && (thrown.code === 'busy' || thrown.code === 'rate_limited')
}

function pause(ms: number, { clock, socket, signal }: RetryOptions): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      cancelTimer()
      forgetStatus()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const cancelTimer = clock.after(ms, done)
    const forgetStatus = socket.onStatus((status) => {
      if (status.state === 'open') done()
    })
    signal?.addEventListener('abort', done, { once: true })
    if (signal?.aborted) done()
  })
}
