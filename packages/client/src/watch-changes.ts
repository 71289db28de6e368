import type { ChangesNews } from '@parley/protocol'
import { type BackoffOptions, createBackoff } from './backoff.ts'
import type { ClientParts } from './client-parts.ts'
import { asParleyError, isUnreachable } from './http.ts'
import { callSafely } from './listeners.ts'

export type ChangesListener = {
  /**
   * `paths` are files that changed, or folders in which anything may have changed. Without `paths`, anything may have
   * changed.
   */
  onChanged(paths?: readonly string[]): void
  /**
   * watching: every change from now on is reported; load the current state once. partial: the same, but some changes
   * may be missed, because the folder is too large to be watched completely. lost: nothing is reported, and the client
   * reconnects. refused: nothing is reported any more.
   */
  onState?(state: 'watching' | 'partial' | 'lost' | 'refused'): void
}

/** Reports when files in a session's folder change, until the returned function is called. */
export function watchChanges(
  { http, clock, closing }: ClientParts,
  sessionId: string,
  listener: ChangesListener,
  options?: BackoffOptions,
): () => void {
  const controller = new AbortController()
  const signal = AbortSignal.any([controller.signal, closing])
  const backoff = createBackoff(options)
  const setState = (state: Parameters<NonNullable<ChangesListener['onState']>>[0]) =>
    callSafely(listener.onState?.bind(listener), state)

  async function listen(): Promise<void> {
    try {
      for await (const { event, data } of http.stream('listChanges', { params: { id: sessionId }, signal })) {
        if (signal.aborted) return
        backoff.reset()
        const news = { ...(JSON.parse(data) as object), type: event } as ChangesNews
        if (news.type === 'watching') setState(news.whole ? 'watching' : 'partial')
        else if (news.type === 'changed') callSafely(listener.onChanged.bind(listener), news.paths)
      }
    } catch (thrown) {
      if (!signal.aborted && !isUnreachable(asParleyError(thrown))) return setState('refused')
    }
    if (signal.aborted) return
    setState('lost')
    cancelRetry = clock.after(backoff.next(), () => void listen())
  }
  let cancelRetry = () => {}
  signal.addEventListener('abort', () => cancelRetry(), { once: true })
  void listen()
  return () => controller.abort()
}
