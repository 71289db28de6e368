import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { ParleyError } from '@parley/protocol'
import { type CommandLine, plainCommandLine } from './command-line.ts'
import { createOneTimeCodes, type OneTimeCodes } from './one-time-codes.ts'
import { createRequestSource, type RequestSource, type SourceSettings } from './request-source.ts'

/** Who may come in: by the token, or by the cookie that a one-time link sets. Owns no routes and no status codes. */
export type Access = {
  readonly source: RequestSource
  readonly codes: OneTimeCodes
  /** ParleyError `unauthorized` without the token, `forbidden` for another site's use of the cookie. */
  checkCaller(request: IncomingMessage): void
  isSignedIn(request: IncomingMessage): boolean
  /** The Set-Cookie header that signs a browser in. */
  setCookie(): string
  /** The one that signs it out. */
  clearCookie(): string
}

export type AccessSettings = SourceSettings & {
  readonly token: string
  readonly now?: () => number
  readonly commandLine?: CommandLine
}

/** Cookies are shared by all ports of a host: the port in the name keeps two servers apart. */
export const cookieName = (port: number) => `parley-${port}`
export const linkLifetimeMs = 15 * 60_000
export const startLinkLifetimeMs = 24 * 60 * 60_000
const cookieSeconds = 30 * 24 * 60 * 60
const shortestRemoteToken = 16
const unchanging = new Set(['GET', 'HEAD', 'OPTIONS'])

export function createAccess(settings: AccessSettings): Access {
  const { token, commandLine = plainCommandLine } = settings
  if (token === '') throw new ParleyError('validation_error', 'The token is empty; give one or leave it out.')
  const cookieValue = createHmac('sha256', token).update('parley browser cookie 1').digest('base64url')

  function isSignedIn(request: IncomingMessage): boolean {
    return cookieValues(request, cookieName(settings.bound().port)).some((value) =>
      isSame(value, cookieValue),
    )
  }

  function cookie(value: string, seconds: number): string {
    const name = cookieName(settings.bound().port)
    return `${name}=${value}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${seconds}`
  }

  return {
    source: createRequestSource(settings),
    codes: createOneTimeCodes(settings.now),
    isSignedIn,
    setCookie: () => cookie(cookieValue, cookieSeconds),
    clearCookie: () => cookie('', 0),
    checkCaller(request) {
      const { authorization } = request.headers
      if (authorization !== undefined) {
        const given = /^Bearer +(\S+) *$/i.exec(authorization)?.[1]
        if (given !== undefined && isSame(given, token)) return
        throw unauthorized(`That token is not the one of this server; \`${commandLine('token')}\` prints it.`)
      }
      if (!isSignedIn(request)) {
        throw unauthorized(
          `Send the token as "Authorization: Bearer <token>" (\`${commandLine('token')}\` prints it), or open a link from \`${commandLine('token --link')}\`.`,
        )
      }
      if (!unchanging.has(request.method ?? '') && isFromElsewhere(request)) {
        throw new ParleyError('forbidden', 'A page of another site may not change anything here.')
      }
    },
  }
}

/** Loopback needs nothing; any other address needs a token of one's own and a word that it is meant. */
export function assertBindable(wish: {
  hostname: string
  tokenExplicit: boolean
  allowRemote: boolean
  token?: string
}): void {
  if (isLoopback(wish.hostname)) return
  const missing = [
    ...(wish.allowRemote ? [] : ['--allow-remote']),
    ...(wish.tokenExplicit ? [] : ['--token <token> (or PARLEY_TOKEN)']),
  ]
  const isShort = wish.token !== undefined && wish.token.length < shortestRemoteToken
  if (missing.length === 0 && !isShort) return
  if (missing.length === 0) {
    throw new ParleyError(
      'validation_error',
      `The token is too short for a server that other machines can reach: use at least ${shortestRemoteToken} characters, such as those of \`openssl rand -hex 24\`.`,
      { details: { hostname: wish.hostname } },
    )
  }
  throw new ParleyError(
    'validation_error',
    `${wish.hostname || 'Every address'} can be reached from other machines. Add ${missing.join(' and ')} if that is meant, or listen on 127.0.0.1.`,
    { details: { hostname: wish.hostname, missing } },
  )
}

export function isLoopback(hostname: string): boolean {
  const family = isIP(hostname)
  if (family === 0) return hostname.toLowerCase() === 'localhost'
  return loopback.check(hostname, family === 6 ? 'ipv6' : 'ipv4')
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/** With an Origin the source check has decided; without one, old browsers say nothing and new ones say this. */
function isFromElsewhere(request: IncomingMessage): boolean {
  if (request.headers.origin !== undefined) return false
  const site = request.headers['sec-fetch-site']
  return site !== undefined && site !== 'same-origin' && site !== 'none'
}

function cookieValues(request: IncomingMessage, name: string): string[] {
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim())
  return pairs.filter((pair) => pair.startsWith(`${name}=`)).map((pair) => pair.slice(name.length + 1))
}

/** Hashes first, so that neither content nor length can be timed. */
function isSame(given: string, wanted: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(wanted))
}

function unauthorized(message: string): ParleyError {
  return new ParleyError('unauthorized', message)
}
