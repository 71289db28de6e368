import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { pino } from 'pino'
import type { Host } from './core/index.ts'
import { type ChatDefaults, createChatFace } from './faces/chat/index.ts'
import { createHttpFace, type FaceSettings } from './faces/http/http-face.ts'
import { createWebSocketFace } from './faces/websocket/index.ts'
import type { Telemetry } from './telemetry/index.ts'
import { version } from './version.ts'

export type EmbedOptions = Pick<
  FaceSettings,
  'allowedHosts' | 'allowedOrigins' | 'limits' | 'workspace' | 'devices'
> & {
  readonly host: Host
  /** Every request must bring it. A server with users of its own puts it in where it has let somebody in. */
  readonly token: string
  /** Where pages and programs find the server, e.g. https://example.org; a function if that is known only later. */
  readonly url: string | (() => string)
  /** Where in it Parley lies, e.g. /parley; without it, everything is Parley's. */
  readonly base?: string
  readonly logger?: FaceSettings['logger']
  /** What a new chat is made with where its page says nothing. */
  readonly chat?: ChatDefaults
  /** The one that the host was made with; for /metrics. */
  readonly telemetry?: Telemetry
}

/** Parley inside another server: HTTP, server-sent events, WebSocket and chat. */
export type Embedded = {
  /** False, with nothing done, for what does not lie under `base`. */
  answer(incoming: IncomingMessage, outgoing: ServerResponse): boolean
  /** The same for a socket that asks to become a WebSocket. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean
  /** Ends what is open. The host is the caller's to close, after this. */
  close(): void
}

/** For a server that exists already; it listens, this answers. */
export function createEmbedded(options: EmbedOptions): Embedded {
  const { host, url, logger = pino({ level: 'silent' }), chat: defaults, telemetry, ...rest } = options
  const base = options.base?.replace(/\/+$/, '') ?? ''
  const websocket = createWebSocketFace({ host, logger, version })
  const chat = createChatFace({ host, logger, ...(defaults && { defaults }) })
  const face = createHttpFace({
    ...rest,
    ...(typeof url === 'string' && reachedAt(url, rest)),
    host,
    logger,
    version,
    chat,
    ...(telemetry && {
      metrics: (now) =>
        telemetry.metrics({ ...now, clients: { ...now.clients, websocket: websocket.peers } }),
    }),
    bound: () => boundAt(typeof url === 'string' ? url : url()),
    websocket: (upgrade) => websocket.accept(upgrade),
  })

  /**
   * True if it is Parley's; its address is then as if Parley were alone. Express takes the path of `app.use` off `url`
   * and keeps the whole address in `originalUrl`.
   */
  function enters(request: IncomingMessage & { originalUrl?: string }): boolean {
    const paths = base === '' ? [request.url] : [request.originalUrl, request.url]
    const rest = paths.map(under).find((path) => path !== undefined)
    if (rest === undefined) return false
    request.url = rest
    return true
  }

  function under(path: string | undefined): string | undefined {
    const rest = path?.startsWith(base) ? path.slice(base.length) : undefined
    return rest !== undefined && /^([/?]|$)/.test(rest) ? rest.replace(/^(?!\/)/, '/') : undefined
  }

  return {
    answer(incoming, outgoing) {
      if (!enters(incoming)) return false
      face.answer(incoming, outgoing)
      return true
    },
    upgrade(request, socket, head) {
      if (!enters(request)) return false
      face.upgrade(request, socket, head)
      return true
    },
    close() {
      websocket.close()
      chat.close()
      face.close()
    },
  }
}

/** A name that a proxy answers to, and an origin that is not plain http, count as this server's own. */
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
