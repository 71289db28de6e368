import { randomBytes } from 'node:crypto'

export type OneTimeCodes = {
  issue(lifetimeMs: number): { code: string; expiresAt: number }
  /** True once for a code that was issued and has not expired. */
  redeem(code: string): boolean
}

/** Codes live in memory only: a restart voids them, and no file ever holds one. */
export function createOneTimeCodes(now: () => number = Date.now, most = 1000): OneTimeCodes {
  const expiries = new Map<string, number>()

  function prune(): void {
    for (const [code, expiresAt] of expiries) if (expiresAt <= now()) expiries.delete(code)
    for (const code of expiries.keys()) {
      if (expiries.size < most) return
      expiries.delete(code)
    }
  }

  return {
    issue(lifetimeMs) {
      prune()
      const code = randomBytes(32).toString('base64url')
      const expiresAt = now() + lifetimeMs
      expiries.set(code, expiresAt)
      return { code, expiresAt }
    },
    redeem(code) {
      const expiresAt = expiries.get(code)
      expiries.delete(code)
      return expiresAt !== undefined && expiresAt > now()
    },
  }
}
