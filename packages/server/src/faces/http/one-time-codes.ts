import { randomBytes } from 'node:crypto'
import { pairingCodeLength, pairingLetters } from '@parley/protocol'

/** Codes that can be redeemed once. They are kept in memory only, so a restart voids them. */
export type OneTimeCodes<Value> = {
  issue(value: Value, lifetimeMs: number): string
  /** Uses the code up and returns its value; undefined if the code is unknown, used or expired. */
  redeem(code: string): Value | undefined
}

export type CodeOptions = {
  /** A monotonic clock, so that a change of the system clock does not affect the expiry of codes. */
  readonly now?: (() => number) | undefined
  /** The maximum number of codes. A further code removes the oldest code. */
  readonly max?: number
  /** Every code ends with this text. */
  readonly suffix?: (() => string) | undefined
  /** Makes the random part of a code. */
  readonly random?: () => string
}

export function createOneTimeCodes<Value>(options: CodeOptions = {}): OneTimeCodes<Value> {
  const { now = () => performance.now(), max = 1000, suffix = () => '', random = longCode } = options
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
      const code = random() + suffix()
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

function longCode(): string {
  return randomBytes(32).toString('base64url')
}

/** The random letters of a pairing code. */
export function randomLetters(): string {
  return [...randomBytes(pairingCodeLength)]
    .map((byte) => pairingLetters[byte % pairingLetters.length])
    .join('')
}
