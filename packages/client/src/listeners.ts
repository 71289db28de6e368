/** A set of listeners. A listener that throws does not stop the others; its error is reported as uncaught. */
export type Listeners<News> = {
  add(listener: (news: News) => void): () => void
  notify(news: News): void
}

export function createListeners<News>(): Listeners<News> {
  const listeners = new Set<{ readonly call: (news: News) => void }>()
  return {
    add(listener) {
      const entry = { call: listener }
      listeners.add(entry)
      return () => void listeners.delete(entry)
    },
    notify(news) {
      for (const entry of [...listeners]) {
        if (listeners.has(entry)) callSafely(entry.call, news)
      }
    },
  }
}

/**
 * Calls a callback of the program that uses the client. An error of the callback is reported, and does not stop the
 * client.
 */
export function callSafely<News>(call: ((news: News) => void) | undefined, news: News): void {
  try {
    call?.(news)
  } catch (thrown) {
    queueMicrotask(() => {
      throw thrown
    })
  }
}
