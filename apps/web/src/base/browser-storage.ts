import { newId } from '@parley/protocol'

/** The interface of local storage, so that tests can replace it. All methods except `onChange` may throw. */
export type TextStorage = {
  keys(): readonly string[]
  get(key: string): string | null
  set(key: string, text: string): void
  remove(key: string): void
  /** Calls the listener with the key that another tab changed, or with null if everything was removed. */
  onChange(listener: (key: string | null) => void): () => void
}

export const browserStorage: TextStorage = {
  keys: () => Object.keys(localStorage),
  get: (key) => localStorage.getItem(key),
  set: (key, text) => localStorage.setItem(key, text),
  remove: (key) => localStorage.removeItem(key),
  onChange(listener) {
    const changed = ({ key }: StorageEvent) => listener(key)
    addEventListener('storage', changed)
    return () => removeEventListener('storage', changed)
  },
}

/** Locks that all tabs of the browser share. */
export type TabLocks = {
  /** Runs `work` while no other tab holds the lock. Rejects if `work` does, or if the signal aborts first. */
  run(name: string, signal: AbortSignal, work: () => Promise<void>): Promise<void>
  isHeld(name: string): Promise<boolean>
  /** A tab counts as closed when its lock has been free for this time. A reload takes less time. */
  readonly graceMs: number
}

/**
 * Locks of the Web Locks API. If the API is missing (it needs HTTPS or localhost) or fails, `run` calls `work` at once
 * without a lock, and the grace time is longer.
 */
export function createTabLocks(manager: () => Pick<LockManager, 'request'>): TabLocks {
  let isUsable = true
  return {
    async run(name, signal, work) {
      let isGranted = false
      const start = () => {
        isGranted = true
        isUsable = true
        return work()
      }
      try {
        await manager().request(name, { signal }, start)
      } catch (error) {
        if (isGranted || signal.aborted) throw error
        isUsable = false
        await work()
      }
    },
    async isHeld(name) {
      if (!isUsable) return false
      try {
        return await manager().request(name, { ifAvailable: true }, (lock) => lock === null)
      } catch {
        // The lock counts as held, so the caller asks again. The next `run` shows whether the API is usable.
        return true
      }
    },
    get graceMs() {
      return isUsable ? 1500 : 60_000
    },
  }
}

export const browserLocks = createTabLocks(() => navigator.locks)

let tab: string | undefined

/** The id of this tab. It survives a reload. */
export function tabId(): string {
  tab ??= storedTabId()
  return tab
}

function storedTabId(): string {
  const fresh = newId('cmd')
  try {
    const known = sessionStorage.getItem('parley:tab')
    if (known) return known
    sessionStorage.setItem('parley:tab', fresh)
  } catch {}
  return fresh
}
