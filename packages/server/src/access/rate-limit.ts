import { ParleyError } from '@parley/protocol'

/** Counts events per key within a time window. Stores a limited number of keys. */
export function createRateLimit(options: {
  readonly max: number
  readonly perMs: number
  readonly now: () => number
  readonly maxKeys?: number
}) {
  const { max, perMs, now, maxKeys = 1000 } = options
  const windows = new Map<string, { readonly endsAt: number; count: number }>()

  function current(key: string) {
    const found = windows.get(key)
    if (found && found.endsAt > now()) return found
    windows.delete(key)
    return undefined
  }

  return {
    /** Throws ParleyError `rate_limited` if the key has reached `max` in its window. */
    check(key: string): void {
      if ((current(key)?.count ?? 0) < max) return
      throw new ParleyError(
        'rate_limited',
        `Too many attempts. Wait ${Math.ceil(perMs / 1000)} seconds, then try again.`,
      )
    },
    count(key: string): void {
      const found = current(key)
      if (found) {
        found.count++
        return
      }
      // The oldest window is removed first. Windows are ordered by their end.
      for (const oldest of windows.keys()) {
        if (windows.size < maxKeys) break
        windows.delete(oldest)
      }
      windows.set(key, { endsAt: now() + perMs, count: 1 })
    },
  }
}
