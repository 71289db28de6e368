import { randomBytes } from 'node:crypto'

/** Codes that can be redeemed once. They are kept in memory only, so a restart voids them. */
export type OneTimeCodes<Value> = {
  issue(value: Value, lifetimeMs: number): string
  /** Invalidates the code and returns its value; undefined if the code is unknown, used or expired. */
  redeem(code: string): Value | undefined
}

/**
 * `now` is monotonic, so changing the system clock does not change when a code expires. Every code ends with
 * `suffix`.
 */
export function createOneTimeCodes<Value>(
  now: () => number = () => performance.now(),
  max = 1000,
  suffix: () => string = () => '',
): OneTimeCodes<Value> {
  const issued = new Map<string, { value: Value; expiresAt: number }>()

  function prune(): void {
    for (const [code, { expiresAt }] of issued) if (expiresAt <= now()) issued.delete(code)
    for (const code of issued.keys()) {
      if (issued.size < max) return
      issued.delete(code)
    }
  }

  return {
    issue(value, lifetimeMs) {
      prune()
      const code = randomBytes(32).toString('base64url') + suffix()
      issued.set(code, { value, expiresAt: now() + lifetimeMs })
      return code
    },
    redeem(code) {
      const found = issued.get(code)
      issued.delete(code)
      return found && found.expiresAt > now() ? found.value : undefined
    },
  }
}
