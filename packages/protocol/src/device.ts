import { z } from 'zod'
import { DeviceId } from './ids.ts'

/**
 * A browser that signed in with a one-time link. It holds a private key that cannot leave it; the server knows the
 * public half. Signing a nonce of the server's gets it a short-lived access token.
 */
export const Device = z.object({
  deviceId: DeviceId,
  name: z.string().meta({ description: 'Browser and system, as the browser named them when it signed in' }),
  createdAt: z.number(),
  lastSeenAt: z.number().meta({ description: 'Written at most once a minute' }),
  current: z.literal(true).optional().meta({ description: 'The device that asks' }),
})
export type Device = z.infer<typeof Device>

const base64url = (least: number, most: number) =>
  z
    .string()
    .min(least)
    .max(most)
    .regex(/^[\w-]+$/, 'base64url without padding')

export const NewDevice = z.strictObject({
  code: base64url(1, 200).meta({ description: 'The code of a one-time link: what follows # in it' }),
  publicKey: base64url(1, 300).meta({ description: 'A P-256 public key as SubjectPublicKeyInfo (DER)' }),
})
export type NewDevice = z.infer<typeof NewDevice>

export const Nonce = z.object({
  nonce: z.string().meta({ description: 'To be signed once' }),
  expiresInMs: z.number(),
})
export type Nonce = z.infer<typeof Nonce>

export const NewAccessToken = z.strictObject({
  deviceId: DeviceId,
  nonce: base64url(1, 200),
  signature: base64url(86, 86).meta({
    description: 'ECDSA with SHA-256 over signedText, r and s as 32 bytes each',
  }),
})
export type NewAccessToken = z.infer<typeof NewAccessToken>

export const AccessToken = z.object({ token: z.string(), expiresInMs: z.number() })
export type AccessToken = z.infer<typeof AccessToken>

/**
 * What a device signs. `origin` is the Origin header of its request, empty without one: a signature that a page gave
 * to the program at one address is worth nothing at another.
 */
export function signedText(parts: { origin: string; deviceId: string; nonce: string }): string {
  return ['parley access token 1', parts.origin, parts.deviceId, parts.nonce].join('\n')
}

/** The subprotocol of every WebSocket; the credential travels beside it, since a browser can set no header there. */
export const webSocketProtocol = 'parley.v1'
const bearer = 'bearer.'

/** What a WebSocket offers as its subprotocols. A token may hold characters that are not allowed there. */
export function webSocketProtocols(token: string | undefined): string[] {
  if (token === undefined) return [webSocketProtocol]
  const encoded = encodeURIComponent(token).replace(/[()]/g, (sign) => (sign === '(' ? '%28' : '%29'))
  return [webSocketProtocol, bearer + encoded]
}

/** The token in a Sec-WebSocket-Protocol header. */
export function tokenOfProtocols(header: string | undefined): string | undefined {
  const offered = (header ?? '').split(',').map((one) => one.trim())
  const found = offered.find((one) => one.startsWith(bearer))
  if (found === undefined) return undefined
  try {
    return decodeURIComponent(found.slice(bearer.length))
  } catch {
    return undefined
  }
}

/** With this code a WebSocket is closed whose device was signed out. */
export const signedOutCode = 4401

/** With this code a WebSocket is closed at once whose page holds a valid token, and whose origin is not allowed. */
export const forbiddenOriginCode = 4403
