import { type ViewedStore, viewedMarkSize } from '../core/viewed-store.ts'

/** Marks of viewed files, in memory. `forget` deletes those of a session. */
export function createMemoryViewed(isKnown: (sessionId: string) => boolean): {
  readonly methods: ViewedStore
  readonly forget: (sessionId: string) => void
} {
  /** The blobs by path, by person, by session. */
  const marks = new Map<string, Map<string, Map<string, string>>>()
  const methods: ViewedStore = {
    async viewedFiles(sessionId, personId) {
      const own = marks.get(sessionId)?.get(personId) ?? new Map<string, string>()
      return [...own].map(([path, blob]) => ({ path, blob }))
    },
    async markViewed(sessionId, personId, files, most) {
      if (!isKnown(sessionId)) return
      const ofSession = marks.get(sessionId) ?? new Map<string, Map<string, string>>()
      marks.set(sessionId, ofSession)
      const own = ofSession.get(personId) ?? new Map<string, string>()
      ofSession.set(personId, own)
      for (const { path, blob } of files) {
        own.delete(path)
        if (blob !== null) own.set(path, blob)
      }
      let size = [...own.keys()].reduce((sum, path) => sum + path.length + viewedMarkSize, 0)
      for (const path of own.keys()) {
        if (size <= most) break
        own.delete(path)
        size -= path.length + viewedMarkSize
      }
    },
  }
  return { methods, forget: (sessionId) => void marks.delete(sessionId) }
}
