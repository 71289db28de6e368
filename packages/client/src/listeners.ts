/** A set of listeners. One that throws does not keep the news from the others; what it threw is reported as uncaught. */
export type Listeners<News> = {
  add(listener: (news: News) => void): () => void
  tell(news: News): void
}

export function createListeners<News>(): Listeners<News> {
  const listeners = new Set<{ readonly call: (news: News) => void }>()
  return {
    add(listener) {
      const entry = { call: listener }
      listeners.add(entry)
      return () => void listeners.delete(entry)
    },
    tell(news) {
      for (const entry of [...listeners]) {
        if (listeners.has(entry)) callSafely(entry.call, news)
      }
    },
  }
}

/** Calls what others wrote: its failure is theirs, and must not stop us. */
export function callSafely<News>(call: ((news: News) => void) | undefined, news: News): void {
  try {
    call?.(news)
  } catch (thrown) {
    queueMicrotask(() => {
      throw thrown
    })
  }
}
