import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import type { Logger } from 'pino'
import type { DecideByLink, DecideFrom } from '../../access/index.ts'
import type { Targets } from '../../alerts/targets.ts'
import type { AccessStore } from '../../core/access-store.ts'
import type { DecisionLinkStore } from '../../core/decision-link-store.ts'
import type { Host } from '../../core/index.ts'
import type { ViewedStore } from '../../core/viewed-store.ts'
import { createWorkspace, type Workspace } from '../../workspace/index.ts'
import type { Terminals } from '../../workspace/terminals.ts'
import type { OtherNodes } from '../other-nodes.ts'
import type { Upgrade } from '../sockets.ts'
import { createApp } from './app.ts'
import {
  type Authenticate,
  type Authentication,
  createAuthentication,
  linkTo,
  machineCode,
  type PeerAuthentication,
  startLinkLifetimeMs,
} from './authentication.ts'
import { createChangeStreams } from './change-streams.ts'
import { type CommandLine, plainCommandLine } from './command-line.ts'
import type { ChatHandler, MetricsWriter, NodeDirectory, Prove, ReachedAt, TakeSnapshot } from './mount.ts'
import type { OidcSettings } from './oidc/settings.ts'
import { problem, problemOf, problemResponse } from './problem.ts'
import { pathUnder, publicAddressOf } from './public-address.ts'
import { recordLink } from './recorded-routes.ts'
import { type Bound, isWildcard, urlAt } from './request-source.ts'
import { createEventStreams } from './sse.ts'
import { createUpgrade, type WebSocketHandler } from './upgrade.ts'

export type FaceSettings = {
  readonly host: Host
  /** The address that the server listens on. Known once the server listens. */
  readonly bound: () => Bound
  /** The URL at which browsers reach the server through a proxy. By default, the address that the server listens on. */
  readonly publicUrl?: string | undefined
  /** The networks of the proxies whose X-Forwarded-For is used for shown addresses and rate limits. */
  readonly trustedProxies?: readonly string[] | undefined
  /** Lets browsers sign in over plain HTTP from other machines, with a secret instead of a key. */
  readonly allowInsecure?: boolean | undefined
  readonly token: string
  /** Stores people, browsers and named tokens. Without it, only the server's token gives access. */
  readonly access?: AccessStore | undefined
  /** The name of the person to whom the server's token belongs. */
  readonly ownerName?: string | undefined
  readonly authenticate?: Authenticate | undefined
  /** The callers that may decide. Default: every caller with the scope `decide`. */
  readonly decideFrom?: DecideFrom | undefined
  /** Stores decision links. Without it, there are no decision links. */
  readonly decisionLinks?: DecisionLinkStore | undefined
  /** The decisions that decision links may make. Default: `deny`. */
  readonly decideByLink?: DecideByLink | undefined
  /** Stores the changed files that people have viewed. Without it, nothing is marked as viewed. */
  readonly viewed?: ViewedStore | undefined
  /** The time in milliseconds since 1970, which a test may control. */
  readonly clock?: () => number
  /** Monotonic time, which a test may control. */
  readonly now?: () => number
  /** The other nodes on the same database. `host` serves them and passes nothing on to other nodes. */
  readonly peers?: PeerAuthentication & { readonly host: Host }
  readonly otherNodes?: OtherNodes
  readonly logger: Logger
  readonly version: string
  readonly instance?: string
  /** Answers a challenge of /api/health. Without it, a challenge is ignored. */
  readonly prove?: Prove
  readonly allowedOrigins?: readonly string[]
  readonly allowedHosts?: readonly string[]
  readonly limits?: Partial<FaceLimits>
  /** Formats a command of this program, for public pages and messages. By default, the program is called `parley`. */
  readonly commandLine?: CommandLine
  /** The folder of the built console. Without it, or before it is built, a plain page is served. */
  readonly consoleFolder?: string
  /** Reads the folders of sessions. By default, it uses git from the standard PATH. */
  readonly workspace?: Workspace
  /** Shells in the folders of sessions; if not given, there are none. */
  readonly terminals?: Terminals
  readonly terminal?: (terminalId: string, upgrade: Upgrade) => void
  readonly websocket?: WebSocketHandler
  /** Answers requests under /api/chat. Must be closed before this face. */
  readonly chat?: ChatHandler
  readonly metrics?: MetricsWriter
  /** Lets people sign in with an OpenID provider. */
  readonly oidc?: OidcSettings | undefined
  /** The nodes on the database. If not given, this server is the only one. */
  readonly nodes?: NodeDirectory
  readonly snapshot?: TakeSnapshot
  /** The targets of alerts. If not given, there are no alerts. */
  readonly targets?: () => Promise<Targets>
}

export type FaceLimits = {
  readonly bodyBytes: number
  /** The maximum number of unsent bytes of one reader of server-sent events. */
  readonly bufferBytes: number
  readonly heartbeatMs: number
}

const defaultLimits: FaceLimits = {
  bodyBytes: 12 * 1024 * 1024,
  bufferBytes: 8 * 1024 * 1024,
  heartbeatMs: 15_000,
}

/** A face without its own server: the server that embeds it passes requests to it. */
export function createHttpFace(settings: FaceSettings) {
  const { logger, bound } = settings
  const commandLine = settings.commandLine ?? plainCommandLine
  const limits = { ...defaultLimits, ...settings.limits }
  const url = () => {
    const { hostname, ...rest } = bound()
    return urlAt({ ...rest, hostname: isWildcard(hostname) ? '127.0.0.1' : hostname })
  }
  let publicAddress = settings.publicUrl === undefined ? undefined : publicAddressOf(settings.publicUrl)
  const address: ReachedAt = {
    get url() {
      return publicAddress?.url ?? url()
    },
    get ownUrl() {
      return url()
    },
    get basePath() {
      return `${publicAddress?.prefix ?? ''}/`
    },
    isPublic: () => publicAddress !== undefined,
    set: (text) => {
      publicAddress = publicAddressOf(text)
    },
  }
  const withoutPrefix = (incoming: IncomingMessage) => {
    if (publicAddress) incoming.url = pathUnder(publicAddress.prefix, incoming.url) ?? incoming.url ?? ''
  }

  const authentication = createAuthentication({
    ...settings,
    commandLine,
    publicAddress: () => publicAddress,
  })
  const workspace = settings.workspace ?? createWorkspace({ env: { PATH: '/usr/local/bin:/usr/bin:/bin' } })
  const changeStreams = createChangeStreams({ workspace, heartbeatMs: limits.heartbeatMs })
  const { heartbeatMs, bufferBytes: bufferLimit, bodyBytes: bodyLimit } = limits
  const faceOf = (host: Host) => {
    const streams = createEventStreams({ host, logger, heartbeatMs, bufferLimit })
    const parts = { commandLine, workspace, authentication, streams, changeStreams, address, bodyLimit }
    const app = createApp({ ...settings, host, ...parts })
    const errorHandler = (thrown: unknown) => problemResponse(unroutable(thrown, logger))
    return { streams, answer: getRequestListener(app.fetch, { overrideGlobalObjects: false, errorHandler }) }
  }
  const forCallers = faceOf(settings.host)
  const forPeers = settings.peers && faceOf(settings.peers.host)
  const upgrade = createUpgrade({
    authentication,
    logger,
    websocket: settings.websocket,
    terminal: settings.terminal,
    otherNodes: settings.otherNodes,
  })
  return {
    authentication,
    url,
    address,
    /** A new one-time link that signs a browser in, valid for a day. */
    link: () => startLink(settings, authentication, address.url),
    answer(incoming: IncomingMessage, outgoing: ServerResponse): void {
      // A stream to a device has about a dozen listeners for its end, more than Node's default limit.
      outgoing.setMaxListeners(20)
      withoutPrefix(incoming)
      logWhenDone(incoming, outgoing, { logger, authentication })
      setSecurityHeaders(incoming, outgoing, authentication)
      const face = forPeers && isFromPeer(incoming) ? forPeers : forCallers
      void face.answer(incoming, outgoing)
    },
    upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
      withoutPrefix(request)
      return upgrade(request, socket, head)
    },
    close(): void {
      forCallers.streams.close()
      forPeers?.streams.close()
      changeStreams.close()
    },
  }
}

function startLink({ host, logger }: FaceSettings, authentication: Authentication, url: string): string {
  const code = machineCode(authentication)
  recordLink(host, code, Date.now() + startLinkLifetimeMs).catch((error) =>
    logger.error({ err: error }, 'could not record a sign-in link'),
  )
  return linkTo(url, authentication.codes.issue(code, startLinkLifetimeMs))
}

/** Whether the request claims to come from another node. Its claim is checked later, like any credential. */
function isFromPeer({ headers }: IncomingMessage): boolean {
  return headers.authorization?.startsWith('Bearer node.') === true
}

/**
 * The answer to a request that reached no route because its URL cannot be parsed, or because of a defect outside the
 * routes.
 */
function unroutable(thrown: unknown, logger: Logger) {
  if (thrown instanceof Error && thrown.name === 'RequestError') {
    return problem({ code: 'validation_error', message: 'The URL of the request is invalid.' })
  }
  return problemOf(thrown, logger)
}

function setSecurityHeaders(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  authentication: Authentication,
): void {
  outgoing.setHeader('X-Content-Type-Options', 'nosniff')
  outgoing.setHeader('Referrer-Policy', 'no-referrer')
  outgoing.setHeader('X-Frame-Options', 'DENY')
  outgoing.setHeader('Cross-Origin-Resource-Policy', 'same-origin')
  outgoing.setHeader('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'")
  outgoing.setHeader('Cache-Control', 'no-store')
  const cookie = authentication.clearCookie(incoming)
  if (cookie !== undefined) outgoing.setHeader('Set-Cookie', cookie)
  const origin = authentication.source.sharedOrigin(incoming)
  if (origin === undefined) return
  outgoing.setHeader('Vary', 'Origin')
  outgoing.setHeader('Access-Control-Allow-Origin', origin)
  outgoing.setHeader('Access-Control-Expose-Headers', 'Content-Disposition')
}

function logWhenDone(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { logger, authentication }: { logger: Logger; authentication: Authentication },
): void {
  const start = performance.now()
  outgoing.once('close', () => {
    const status = outgoing.statusCode
    const line = {
      method: incoming.method,
      path: loggablePath(incoming.url ?? ''),
      status,
      ms: Math.round((performance.now() - start) * 10) / 10,
    }
    if (status === 401 || status === 403 || status === 429)
      logger.info({ ...line, address: authentication.clientAddress(incoming) }, 'refused')
    else logger.debug(line, 'request')
  })
}

/**
 * The path as it may be logged: without the query, and without the code of a download. Some programs replace the # of a
 * link by a slash; the code of such a link is removed too.
 */
function loggablePath(url: string): string {
  const path = url.split(/[?#]/, 1)[0] ?? ''
  let decoded = path
  try {
    decoded = decodeURIComponent(path)
  } catch {}
  return decoded.replace(/(open|pair|decide|downloads)\/.*/is, '$1/***').slice(0, 300)
}
