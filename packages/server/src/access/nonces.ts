import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

const randomLength = 16
const timeLength = 8
const codeLength = 16

type NonceOptions = {
  readonly lifetimeMs: number
  readonly now: () => number
  /** Every nonce ends with this text. */
  readonly suffix?: (() => string) | undefined
}

/**
 * Nonces that devices sign. A nonce contains the time of its creation and an authentication code of this process.
 * Therefore the server does not store unused nonces, and many requests for nonces use no memory. `now` is monotonic.
 */
export function createNonces({ lifetimeMs, now, suffix = () => '' }: NonceOptions) {
  const secret = randomBytes(32)
  const used = new Map<string, number>()
  const codeOf = (content: Buffer) =>
    createHmac('sha256', secret).update(content).digest().subarray(0, codeLength)

  return {
    make(): string {
      const time = Buffer.alloc(timeLength)
      time.writeDoubleBE(now())
      const content = Buffer.concat([randomBytes(randomLength), time])
      return Buffer.concat([content, codeOf(content)]).toString('base64url') + suffix()
    },
    /** True if this process made the nonce, and the nonce is neither expired nor used. */
    isFresh(nonce: string): boolean {
      if (!nonce.endsWith(suffix())) return false
      const bytes = Buffer.from(nonce.slice(0, nonce.length - suffix().length), 'base64url')
      if (bytes.length !== randomLength + timeLength + codeLength || used.has(nonce)) return false
      const content = bytes.subarray(0, randomLength + timeLength)
      if (!timingSafeEqual(codeOf(content), bytes.subarray(content.length))) return false
      return now() - content.readDoubleBE(randomLength) < lifetimeMs
    },
    /** Marks a fresh nonce as used. Must be called only after the signature was checked. */
    use(nonce: string): void {
      for (const [old, expiresAt] of used) {
        if (expiresAt > now()) break
        used.delete(old)
      }
      used.set(nonce, now() + lifetimeMs)
    },
  }
}
