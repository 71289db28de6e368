import type { IncomingMessage } from 'node:http'
import { isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'
import { ParleyError } from '@parley/protocol'
import type { PublicAddress } from './public-address.ts'

/**
 * Checks the Host and Origin of requests. A foreign Host means that another host name resolves to this server (DNS
 * rebinding); a foreign Origin means that a page of another site sent the request.
 */
export type RequestSource = {
  /** Throws ParleyError `forbidden` unless Host and Origin are accepted. */
  check(request: IncomingMessage): void
  /** The Origin of this request, if that origin is allowed, so that its page may read the answer. */
  sharedOrigin(request: IncomingMessage): string | undefined
  /** The origin of the page that sent this request, if this server has served the page. `check` must have passed. */
  pageOrigin(request: IncomingMessage): string | undefined
}

export type SourceSettings = {
  readonly bound: () => Bound
  /** The address at which browsers reach the server through a proxy. */
  readonly publicAddress?: (() => PublicAddress | undefined) | undefined
  readonly allowedHosts?: readonly string[]
  readonly allowedOrigins?: readonly string[]
}

/** The address that the server listens on. */
export type Bound = {
  readonly hostname: string
  readonly port: number
  /** Whether the server itself uses TLS. */
  readonly isSecure?: boolean
}

export function createRequestSource(settings: SourceSettings): RequestSource {
  const extraHosts = (settings.allowedHosts ?? []).map((host) => host.toLowerCase())
  const sharedOrigins = new Set((settings.allowedOrigins ?? []).map(originOf))
  let own: ReadonlySet<string> | undefined

  function isOurs(host: string): boolean {
    const bound = settings.bound()
    own ??= ownHosts(bound)
    return (
      own.has(withPort(host, bound)) ||
      extraHosts.some((extra) => extra === host || extra === withoutPort(host))
    )
  }

  /** Whether browsers reach this server at this origin. */
  function isOwnOrigin(origin: string): boolean {
    if (origin === settings.publicAddress?.()?.origin) return true
    const scheme = settings.bound().isSecure ? 'https://' : 'http://'
    const from = origin.startsWith(scheme) ? origin.slice(scheme.length) : ''
    return /^[^/]+$/.test(from) && isOurs(from)
  }

  return {
    check(request) {
      const host = request.headers.host?.toLowerCase() ?? ''
      if (!isOurs(host) && !settings.publicAddress?.()?.hosts.includes(host)) {
        throw new ParleyError(
          'forbidden',
          'This server does not answer to that host name. Use the address that it printed when it started, or name that address with --public-url, or the host with --allow-host.',
          { details: { header: 'Host' } },
        )
      }
      const { origin } = request.headers
      if (origin === undefined || sharedOrigins.has(origin.toLowerCase())) return
      if (!isOwnOrigin(origin.toLowerCase())) {
        throw new ParleyError(
          'forbidden',
          'Pages from that address may not use this server. To allow them, add their address to the allowed origins (--allow-origin).',
          { details: { header: 'Origin' } },
        )
      }
    },
    sharedOrigin(request) {
      const { origin } = request.headers
      return origin !== undefined && sharedOrigins.has(origin.toLowerCase()) ? origin : undefined
    },
    pageOrigin({ headers: { origin, host } }) {
      return origin?.replace(/^https?:\/\//i, '') === host ? origin : undefined
    },
  }
}

/** A host as it is written in a URL. */
export function urlHost(hostname: string): string {
  return isIPv6(hostname) ? `[${hostname}]` : hostname
}

/** The URLs at which other machines reach a server that listens here. */
export function remoteUrls({ hostname, port, isSecure }: Bound): string[] {
  const names = isWildcard(hostname) ? outerAddresses(hostname === '0.0.0.0') : [hostname]
  return names.map((name) => urlAt({ hostname: name, port, ...(isSecure && { isSecure }) }))
}

/** The URL of a server that listens here, without a slash at the end. */
export function urlAt({ hostname, port, isSecure = false }: Bound): string {
  return `${isSecure ? 'https' : 'http'}://${urlHost(hostname)}:${port}`
}

function outerAddresses(onlyFour: boolean): string[] {
  return Object.values(networkInterfaces()).flatMap((entries) =>
    (entries ?? [])
      .filter(({ internal, family, address }) =>
        family === 'IPv4' ? !internal : !internal && !onlyFour && !address.startsWith('fe80:'),
      )
      .map(({ address }) => address),
  )
}

export function isWildcard(hostname: string): boolean {
  return hostname === '0.0.0.0' || hostname === '::' || hostname === ''
}

function ownHosts({ hostname, port }: Bound): Set<string> {
  const names = ['127.0.0.1', 'localhost', '::1', hostname, ...(isWildcard(hostname) ? addresses() : [])]
  return new Set(names.map((name) => `${urlHost(name).toLowerCase()}:${port}`))
}

function addresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((entries) =>
    (entries ?? []).map((entry) => entry.address),
  )
}

const portAtEnd = /:\d+$/

function withPort(host: string, { isSecure }: Bound): string {
  return portAtEnd.test(host) ? host : `${host}:${isSecure ? 443 : 80}`
}

function withoutPort(host: string): string {
  return host.replace(portAtEnd, '')
}

function originOf(text: string): string {
  const origin = URL.canParse(text) ? new URL(text).origin : 'null'
  if (origin === 'null') {
    throw new ParleyError('validation_error', `"${text}" is not an origin; write it like https://example.org`)
  }
  return origin
}
