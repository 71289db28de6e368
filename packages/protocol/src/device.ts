import { z } from 'zod'
import { DeviceId, PersonId } from './ids.ts'
import { DeviceName } from './pairing.ts'
import { Limits, PersonName } from './people.ts'
import { Scope } from './scope.ts'

/**
 * A signed-in browser. It holds a private key that cannot be exported; the server holds the public key. The device
 * signs a nonce of the server to get a short-lived access token.
 */
export const Device = z.object({
  deviceId: DeviceId,
  name: z.string().meta({ description: 'As given at sign-in, or the browser and its operating system' }),
  createdAt: z.number(),
  lastSeenAt: z.number().meta({ description: 'Updated at most once a minute' }),
  personId: PersonId,
  scopes: z.array(Scope),
  limits: Limits.optional(),
  expiresAt: z.number().optional(),
  weak: z.literal(true).optional().meta({
    description:
      'Set for a device that has a secret instead of a key: whoever can read its network can act as it',
  }),
  current: z.literal(true).optional().meta({ description: 'Set for the device that sent the request' }),
})
export type Device = z.infer<typeof Device>

const base64url = (least: number, most: number) =>
  z
    .string()
    .min(least)
    .max(most)
    .regex(/^[\w-]+$/, 'base64url without padding')

/** The secret of a weak device: 32 random bytes. */
const Secret = base64url(43, 43)

export const NewDevice = z.strictObject({
  code: base64url(1, 200).meta({
    description: 'The code of a one-time link, which is the part after #, or a pairing code',
  }),
  publicKey: base64url(1, 300)
    .optional()
    .meta({ description: 'A P-256 public key as SubjectPublicKeyInfo (DER)' }),
  secret: Secret.optional().meta({
    description:
      'Instead of a key, from a page over plain HTTP, if the server allows that (--allow-insecure)',
  }),
  name: DeviceName.optional().meta({ description: 'By default, the browser and its operating system' }),
  person: z
    .strictObject({ name: PersonName })
    .optional()
    .meta({ description: 'With the code of an invitation: the name of the new person' }),
})
export type NewDevice = z.infer<typeof NewDevice>

export const NewOidcRequest = z.strictObject({
  code: base64url(1, 200).optional().meta({
    description:
      'The code of an invitation or a one-time link, for an account that signs in for the first time',
  }),
})
export type NewOidcRequest = z.infer<typeof NewOidcRequest>

export const OidcRequest = z.object({
  url: z.string().meta({ description: 'The page on which the provider asks the person to sign in' }),
  state: z.string(),
  secret: z.string().meta({ description: 'Proves that the browser that finishes is the one that started' }),
  expiresInMs: z.number(),
})
export type OidcRequest = z.infer<typeof OidcRequest>

export const NewOidcSignIn = z.strictObject({
  state: base64url(1, 200),
  secret: base64url(1, 200),
  answer: z.string().max(8192).meta({ description: "The query of the provider's redirect, without ?" }),
  publicKey: NewDevice.shape.publicKey,
  person: NewDevice.shape.person,
})
export type NewOidcSignIn = z.infer<typeof NewOidcSignIn>

export const Nonce = z.object({
  nonce: z.string().meta({ description: 'Valid for one signature' }),
  expiresInMs: z.number(),
})
export type Nonce = z.infer<typeof Nonce>

export const NewAccessToken = z.strictObject({
  deviceId: DeviceId,
  nonce: base64url(1, 200).optional(),
  signature: base64url(86, 86).optional().meta({
    description: 'ECDSA with SHA-256 over signedText, r and s as 32 bytes each',
  }),
  secret: Secret.optional().meta({
    description: 'The secret of a weak device, instead of nonce and signature',
  }),
})
export type NewAccessToken = z.infer<typeof NewAccessToken>

export const AccessToken = z.object({
  token: z.string(),
  expiresInMs: z.number(),
  keyId: z
    .string()
    .optional()
    .meta({ description: 'The id of the key that signed the nonce. A signed answer names this id' }),
})
export type AccessToken = z.infer<typeof AccessToken>

/**
 * The text that a device signs. `origin` is the Origin header of its request, or empty if the request has none. A
 * signature made for one origin is not valid at another.
 */
export function signedText(parts: { origin: string; deviceId: string; nonce: string }): string {
  return ['parley access token 1', parts.origin, parts.deviceId, parts.nonce].join('\n')
}

/**
 * The subprotocol of every WebSocket. The credential is sent as a second subprotocol, because a browser
 * cannot set headers on a WebSocket.
 */
export const webSocketProtocol = 'parley.v1'
const bearer = 'bearer.'

/**
 * The subprotocols that a WebSocket offers. The token is encoded, because it may contain characters that are not
 * allowed in the name of a subprotocol.
 */
export function webSocketProtocols(token: string | undefined): string[] {
  if (token === undefined) return [webSocketProtocol]
  const encoded = encodeURIComponent(token).replace(/[()]/g, (sign) => (sign === '(' ? '%28' : '%29'))
  return [webSocketProtocol, bearer + encoded]
}

/** Returns the token in a Sec-WebSocket-Protocol header; undefined if the header has no valid token. */
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

/** The close code of a WebSocket whose access was revoked or has changed. */
export const signedOutCode = 4401

/**
 * The close code of a WebSocket whose page holds a valid token but has an origin that is not allowed. The server
 * closes it at once.
 */
export const forbiddenOriginCode = 4403
