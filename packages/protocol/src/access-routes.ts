import { z } from 'zod'
import type { Route } from './api.ts'
import { ExportFormat } from './api-bodies.ts'
import { AccessToken, Device, NewAccessToken, NewDevice, Nonce } from './device.ts'
import { DeviceId, SessionId } from './ids.ts'

const Nothing = z.null()

/** The routes by which browsers sign in and out, and download files by an address that needs no token. */
export const accessRoutes = {
  createLink: {
    method: 'POST',
    path: '/api/links',
    summary: 'A one-time link that signs a browser in',
    reply: z.object({ url: z.string(), expiresAt: z.number() }),
    status: 201,
  },
  listDevices: {
    method: 'GET',
    path: '/api/devices',
    summary: 'Browsers that are signed in, the first one first',
    reply: z.object({ devices: z.array(Device) }),
    status: 200,
  },
  createDevice: {
    method: 'POST',
    path: '/api/devices',
    summary: 'Signs a browser in: registers its public key with the code of a one-time link',
    open: true,
    body: NewDevice,
    reply: Device,
    status: 201,
  },
  revokeDevice: {
    method: 'DELETE',
    path: '/api/devices/:id',
    summary: 'Signs a browser out: its tokens fail and its connections are closed at once',
    params: z.object({ id: DeviceId }),
    reply: Nothing,
    status: 204,
  },
  createNonce: {
    method: 'POST',
    path: '/api/nonces',
    summary: 'What a device signs to get an access token',
    open: true,
    reply: Nonce,
    status: 201,
  },
  createAccessToken: {
    method: 'POST',
    path: '/api/access-tokens',
    summary: 'An access token, for the signature of a device; renewed by a new one',
    open: true,
    body: NewAccessToken,
    reply: AccessToken,
    status: 201,
  },
  signOut: {
    method: 'POST',
    path: '/api/sign-out',
    summary: 'Signs the device that asks out',
    reply: Nothing,
    status: 204,
  },
  createDownload: {
    method: 'POST',
    path: '/api/sessions/:id/downloads',
    summary: 'An address that gives the whole session as a file once, within a minute, without a token',
    params: z.object({ id: SessionId }),
    body: z.strictObject({ as: ExportFormat }),
    reply: z.object({ path: z.string(), expiresInMs: z.number() }),
    status: 201,
  },
  download: {
    method: 'GET',
    path: '/api/downloads/:code',
    summary: 'The file of such an address',
    open: true,
    params: z.object({ code: z.string() }),
    reply: z.string(),
    status: 200,
    also: ['application/jsonl', 'text/markdown', 'text/html'],
  },
} as const satisfies Record<string, Route>
