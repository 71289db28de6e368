import { z } from 'zod'
import { ExportFormat } from './api-bodies.ts'
import { AccessToken, Device, NewAccessToken, NewDevice, Nonce } from './device.ts'
import { DeviceId, SessionId } from './ids.ts'
import { NoContent, type RouteDefinition } from './route.ts'

/** The routes with which browsers sign in and out, and download files from an address that needs no token. */
export const accessRoutes = {
  createLink: {
    method: 'POST',
    path: '/api/links',
    summary:
      'Create a one-time link that signs in another browser of the caller, with the same scopes and limits',
    scope: 'any',
    limits: 'handled',
    reply: z.object({ url: z.string(), expiresAt: z.number() }),
    status: 201,
  },
  listDevices: {
    method: 'GET',
    path: '/api/devices',
    summary: 'List signed-in browsers, oldest first',
    scope: 'any',
    limits: 'handled',
    reply: z.object({ devices: z.array(Device) }),
  },
  createDevice: {
    method: 'POST',
    path: '/api/devices',
    summary: 'Sign a browser in: register its public key with the code of a one-time link',
    scope: 'open',
    limits: 'none',
    body: NewDevice,
    reply: Device,
    status: 201,
  },
  revokeDevice: {
    method: 'DELETE',
    path: '/api/devices/:id',
    summary: 'Sign a browser out: its tokens are refused and its connections are closed at once',
    scope: 'any',
    limits: 'handled',
    params: z.object({ id: DeviceId }),
    reply: NoContent,
  },
  createNonce: {
    method: 'POST',
    path: '/api/nonces',
    summary: 'Get a nonce, which a device signs to get an access token',
    scope: 'open',
    limits: 'none',
    reply: Nonce,
    status: 201,
  },
  createAccessToken: {
    method: 'POST',
    path: '/api/access-tokens',
    summary: 'Exchange a nonce that a device has signed for an access token',
    scope: 'open',
    limits: 'none',
    body: NewAccessToken,
    reply: AccessToken,
    status: 201,
  },
  signOut: {
    method: 'POST',
    path: '/api/sign-out',
    summary: 'Sign out the calling device',
    scope: 'any',
    limits: 'none',
    reply: NoContent,
  },
  createDownload: {
    method: 'POST',
    path: '/api/sessions/:id/downloads',
    summary:
      'Create an address from which the exported session can be downloaded once, within a minute, without a token',
    scope: 'read',
    limits: 'session',
    params: z.object({ id: SessionId }),
    body: z.strictObject({ as: ExportFormat }),
    reply: z.object({ path: z.string(), expiresInMs: z.number() }),
    status: 201,
  },
  download: {
    method: 'GET',
    path: '/api/downloads/:code',
    summary: 'Download an exported session from an address created for it',
    scope: 'open',
    limits: 'none',
    params: z.object({ code: z.string() }),
    reply: z.string(),
    also: ['application/jsonl', 'text/markdown', 'text/html'],
  },
} as const satisfies Record<string, RouteDefinition>
