import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { ParleyError } from '@parley/protocol'
import { pino } from 'pino'
import type { AlertSettings } from './alerts/index.ts'
import type { AlertStore } from './core/alert-store.ts'
import type { Host } from './core/index.ts'
import type { SessionStore } from './core/session-store.ts'
import { embedAlerts, embedTerminals } from './embedded-features.ts'
import { type ChatDefaults, createChatFace } from './faces/chat/index.ts'
import { createHttpFace, type FaceSettings } from './faces/http/http-face.ts'
import { pathUnder } from './faces/http/public-address.ts'
import { createWebSocketFace } from './faces/websocket/index.ts'
import type { Telemetry } from './telemetry/index.ts'
import { version } from './version.ts'

export type EmbedOptions = Pick<
  FaceSettings,
  | 'allowedHosts'
  | 'allowedOrigins'
  | 'authenticate'
  | 'limits'
  | 'ownerName'
  | 'workspace'
  | 'access'
  | 'decisionLinks'
  | 'decideByLink'
  | 'viewed'
> & {
  readonly host: Host
  /**
   * A token with all rights. A server with its own sign-in passes `authenticate` instead of adding this token to the
   * requests of signed-in users.
   */
  readonly token: string
  /** The public URL of the server, e.g. https://example.org; a function if the URL is known only later. */
  readonly url: string | (() => string)
  /** The path at which Parley is mounted, e.g. /parley. Without it, Parley answers every path. */
  readonly base?: string
  /**
   * Serves the console too. `url` and `base` must then be the URL and the path that browsers use, and `access` must be
   * the store of the host, because it stores the keys of browsers.
   */
  readonly console?: boolean
  readonly logger?: FaceSettings['logger']
  /**
   * Shells in the folders of sessions, for callers with the scope `terminal`. They get this environment, without
   * variables of Parley. Without it, there are no terminals.
   */
  readonly terminals?: { readonly env: Readonly<Record<string, string | undefined>> }
  /**
   * Alerts to browsers, webhooks and ntfy topics. `store` is the store of the host, and keeps the targets. Without it,
   * there are no alerts.
   */
  readonly alerts?: AlertSettings & { readonly store: SessionStore & AlertStore }
  /** Defaults for the settings that the page of a new chat does not send. */
  readonly chat?: ChatDefaults
  /** The telemetry that was passed to the host, for /metrics. */
  readonly telemetry?: Telemetry
}

/** Parley inside another server: HTTP, server-sent events, WebSocket and chat. */
export type Embedded = {
  /** Answers a request. Returns false, without an effect, if its path is not under `base`. */
  answer(incoming: IncomingMessage, outgoing: ServerResponse): boolean
  /** Like `answer`, for a request to upgrade to a WebSocket. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean
  /**
   * A new one-time link that signs a browser in to the console with every right, valid for a day. Throws if there is no
   * console.
   */
  link(): string
  /** Ends all streams, WebSockets and terminals. The caller closes the host when this has resolved. */
  close(): Promise<void>
}

/** The built console is inside the package. The path is the same for the published program and for its sources. */
const builtConsole = fileURLToPath(new URL('../dist/console', import.meta.url))

/** Embeds Parley in an existing server, which listens and passes its requests on. */
export function createEmbedded(options: EmbedOptions): Embedded {
  const { host, url, logger = pino({ level: 'silent' }), chat: defaults, telemetry, ...given } = options
  const { console: hasConsole = false, terminals: shells, alerts: alerting, ...rest } = given
  const { access } = rest
  if (hasConsole && !access) throw noAccess()
  const base = options.base?.replace(/\/+$/, '') ?? ''
  const publicUrl = () => `${(typeof url === 'string' ? url : url()).replace(/\/+$/, '')}${base}`
  const parts = { host, logger, url: publicUrl, authentication: () => face.authentication }
  const terminals = shells && embedTerminals(shells.env, parts)
  const alerts = alerting && embedAlerts(alerting, parts)
  const websocket = createWebSocketFace({ host, logger, version, ...alerts?.presence })
  const chat = createChatFace({ logger, ...(defaults && { defaults }) })
  const face = createHttpFace({
    ...rest,
    ...(typeof url === 'string' && reachedAt(url, rest)),
    host,
    logger,
    version,
    chat,
    ...(hasConsole && { consoleFolder: builtConsole }),
    ...(telemetry && {
      metrics: (now) =>
        telemetry.metrics({ ...now, clients: { ...now.clients, websocket: websocket.peers } }),
    }),
    bound: () => boundAt(typeof url === 'string' ? url : url()),
    websocket: (upgrade) => websocket.accept(upgrade),
    ...terminals?.served,
    ...alerts?.served,
  })
  if (access) face.authentication.devices().onAdded(websocket.announce)

  let isPublished = false
  /** Passes the URL to the console and to the alerts, once it is known. */
  function publish(): void {
    if (isPublished) return
    if (hasConsole) face.address.set(publicUrl())
    isPublished = true
    alerts?.start()
  }
  if (typeof url === 'string') publish()

  return {
    answer(incoming, outgoing) {
      if (!stripBase(base, incoming)) return false
      publish()
      face.answer(incoming, outgoing)
      return true
    },
    upgrade(request, socket, head) {
      if (!stripBase(base, request)) return false
      publish()
      face.upgrade(request, socket, head)
      return true
    },
    link() {
      if (!hasConsole) throw new ParleyError('not_supported', 'This server was embedded without the console.')
      publish()
      return face.link()
    },
    async close() {
      terminals?.close()
      websocket.close()
      chat.close()
      face.close()
      await alerts?.close()
    },
  }
}

/**
 * Removes `base` from the URL of a request; false if the URL is not under `base`. Express removes the path of
 * `app.use` from `url` and keeps the whole URL in `originalUrl`.
 */
function stripBase(base: string, request: IncomingMessage & { originalUrl?: string }): boolean {
  const paths = base === '' ? [request.url] : [request.originalUrl, request.url]
  const rest = paths.map((path) => pathUnder(base, path)).find((path) => path !== undefined)
  if (rest === undefined) return false
  request.url = rest
  return true
}

function noAccess(): ParleyError {
  const message =
    'The console needs the option access, in which it stores browsers. Pass the store of the host.'
  return new ParleyError('validation_error', message)
}

/**
 * Allows the host of the public URL, which a proxy may serve, and its origin. An http origin is already allowed with
 * its host.
 */
function reachedAt(url: string, { allowedHosts = [], allowedOrigins = [] }: Partial<EmbedOptions>) {
  const { host, origin, protocol } = new URL(url)
  return {
    allowedHosts: [...allowedHosts, host],
    allowedOrigins: protocol === 'http:' ? allowedOrigins : [...allowedOrigins, origin],
  }
}

function boundAt(url: string): { hostname: string; port: number } {
  const { hostname, port, protocol } = new URL(url)
  return { hostname, port: Number(port) || (protocol === 'https:' ? 443 : 80) }
}
