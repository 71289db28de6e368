import { createHmac, randomBytes, scryptSync, timingSafeEqual } from 'node:crypto'

/**
 * Access tokens of devices that every node accepts. A token names its device and its expiry, and is signed with a key
 * that all nodes derive from the token that they share. Deriving the key is slow, so that a browser cannot find a short
 * shared token by trying guesses against its access token. Each node compares the expiry with the clock of its own
 * machine.
 */
export function createAccessTokens(sharedToken: string) {
  const key = scryptSync(sharedToken, 'parley access tokens 1', 32)
  const sign = (content: string) => createHmac('sha256', key).update(content).digest('base64url')

  return {
    issue(deviceId: string, lifetimeMs: number, now = Date.now()): string {
      const device = Buffer.from(deviceId).toString('base64url')
      const content = `device.${device}.${now + lifetimeMs}.${randomBytes(12).toString('base64url')}`
      return `${content}.${sign(content)}`
    },
    deviceOf(token: string, now = Date.now()): string | undefined {
      const [, content = '', device = '', expiresAt = '', signature = ''] =
        /^(device\.([\w-]{1,800})\.(\d{1,16})\.[\w-]{16})\.([\w-]{43})$/.exec(token) ?? []
      if (content === '' || Number(expiresAt) <= now) return undefined
      if (!timingSafeEqual(Buffer.from(signature), Buffer.from(sign(content)))) return undefined
      return Buffer.from(device, 'base64url').toString()
    },
  }
}
