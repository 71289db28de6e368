import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { ParleyError } from '@parley/protocol'
import type { Logger } from 'pino'
import type { Host } from '../../core/host.ts'
import { createWorkspace, type Workspace } from '../../workspace/index.ts'
import type { Terminals } from '../../workspace/terminals.ts'
import { type Access, createAccess, startLinkLifetimeMs } from './access.ts'
import { createApp } from './app.ts'
import { type CommandLine, createCommandLine } from './command-line.ts'
import { problem, problemOf, problemResponse } from './problem.ts'
import { isWildcard, urlHost } from './request-source.ts'
import type { ChatDoor } from './routes/chat.ts'
import { createEventStreams } from './sse.ts'
import { createUpgrade, type Upgrade, type WebSocketDoor } from './upgrade.ts'

export type ServeSettings = {
  readonly host: Host
  readonly hostname: string
  /** 0 picks a free one. */
  readonly port: number
  readonly token: string
  readonly logger: Logger
  readonly version: string
  readonly allowedOrigins?: readonly string[]
  readonly allowedHosts?: readonly string[]
  readonly limits?: Partial<HttpLimits>
  /** How people call the program here, for the pages and messages; without it, `parley`. */
  readonly commandLine?: CommandLine
  /** Where the built console lies; without it, or before it is built, a plain page stands in for it. */
  readonly consoleFolder?: string
  /** What can be seen of folders; without it, what git on the usual PATH tells. */
  readonly workspace?: Workspace
  /** Shells in the folders of sessions; without it there are none. */
  readonly terminals?: Terminals
  /** Takes over the sockets that ask for a terminal and may come in. */
  readonly terminal?: (terminalId: string, upgrade: Upgrade) => void
  /** Takes over the sockets that ask for /api/ws and may come in. */
  readonly websocket?: WebSocketDoor
  /** Answers what is asked under /api/chat. Close it before this. */
  readonly chat?: ChatDoor
}

export type HttpLimits = {
  readonly bodyBytes: number
  /** Of one reader of server-sent events. */
  readonly bufferBytes: number
  readonly heartbeatMs: number
  /** How long requests may go on when the server closes. */
  readonly closeGraceMs: number
}

export type HttpServer = {
  readonly url: string
  readonly port: number
  readonly server: Server
  readonly access: Access
  /** A new one-time link that signs a browser in, good for a day. */
  link(): string
  /** Ends streams, lets requests finish for a moment, then cuts every socket. Close the WebSocket face first. */
  close(): Promise<void>
}

const usualLimits: HttpLimits = {
  bodyBytes: 12 * 1024 * 1024,
  bufferBytes: 8 * 1024 * 1024,
  heartbeatMs: 15_000,
  closeGraceMs: 1000,
}

export async function startServer(settings: ServeSettings): Promise<HttpServer> {
  const { host, hostname, logger, version } = settings
  const commandLine = settings.commandLine ?? createCommandLine({ invocation: 'parley' })
  const limits = { ...usualLimits, ...settings.limits }
  let port = settings.port
  const url = () => `http://${urlHost(isWildcard(hostname) ? '127.0.0.1' : hostname)}:${port}`

  const access = createAccess({ ...settings, commandLine, bound: () => ({ hostname, port }) })
  const streams = createEventStreams({
    host,
    logger,
    heartbeatMs: limits.heartbeatMs,
    bufferLimit: limits.bufferBytes,
  })
  const app = createApp({
    host,
    workspace: settings.workspace ?? createWorkspace({ env: { PATH: '/usr/local/bin:/usr/bin:/bin' } }),
    terminals: settings.terminals,
    access,
    streams,
    logger,
    version,
    bodyLimit: limits.bodyBytes,
    url,
    commandLine,
    consoleFolder: settings.consoleFolder,
    chat: settings.chat,
  })

  const answer = getRequestListener(app.fetch, {
    overrideGlobalObjects: false,
    errorHandler: (thrown) => problemResponse(unroutable(thrown, logger)),
  })
  const traffic = createTraffic()
  const server = createServer({ shouldUpgradeCallback: asksForWebSocket }, (incoming, outgoing) => {
    traffic.enter(outgoing)
    logWhenDone(incoming, outgoing, logger)
    setSecurityHeaders(incoming, outgoing, access)
    void answer(incoming, outgoing)
  })
  server.on('connection', traffic.connect)
  server.on(
    'upgrade',
    createUpgrade({ access, logger, websocket: settings.websocket, terminal: settings.terminal }),
  )

  port = await listen(server, hostname, port)
  let closing: Promise<void> | undefined
  return {
    url: url(),
    port,
    server,
    access,
    link: () => `${url()}/open/${access.codes.issue(startLinkLifetimeMs).code}`,
    close: () => {
      closing ??= close(server, traffic, { streams, graceMs: limits.closeGraceMs })
      return closing
    },
  }
}

async function listen(server: Server, hostname: string, port: number): Promise<number> {
  server.listen({ host: hostname, port })
  try {
    await once(server, 'listening')
  } catch (error) {
    throw cannotListen(error as NodeJS.ErrnoException, `${urlHost(hostname)}:${port}`)
  }
  return (server.address() as AddressInfo).port
}

function cannotListen(error: NodeJS.ErrnoException, where: string): ParleyError {
  if (error.code === 'EADDRINUSE') {
    return new ParleyError(
      'conflict',
      `${where} is in use: stop what listens there, or choose another port with --port (0 picks a free one).`,
      { cause: error },
    )
  }
  return new ParleyError('validation_error', `Cannot listen on ${where} (${error.code ?? error.message}).`, {
    cause: error,
  })
}

async function close(
  server: Server,
  traffic: Traffic,
  { streams, graceMs }: { streams: { close(): void }; graceMs: number },
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  streams.close()
  server.closeIdleConnections()
  const grace = Promise.withResolvers<void>()
  const timer = setTimeout(grace.resolve, graceMs)
  await Promise.race([traffic.settled(), grace.promise])
  clearTimeout(timer)
  traffic.cut()
  await closed
}

type Traffic = ReturnType<typeof createTraffic>

/** The requests under way and the sockets open, so that closing can wait for the first and cut the second. */
function createTraffic() {
  const requests = new Set<ServerResponse>()
  const sockets = new Set<Socket>()
  return {
    enter(outgoing: ServerResponse): void {
      requests.add(outgoing)
      outgoing.once('close', () => requests.delete(outgoing))
    },
    connect(socket: Socket): void {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
    },
    async settled(): Promise<void> {
      await Promise.all([...requests].map((outgoing) => once(outgoing, 'close')))
    },
    cut(): void {
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Other upgrades, such as a client's offer of HTTP/2, are passed over: the request is answered as it is. */
function asksForWebSocket(request: IncomingMessage): boolean {
  return request.headers.upgrade?.toLowerCase() === 'websocket'
}

/** What never reached a route: an address that cannot be read, or a defect outside of one. */
function unroutable(thrown: unknown, logger: Logger) {
  if (thrown instanceof Error && thrown.name === 'RequestError') {
    return problem({ code: 'validation_error', message: 'The address of the request cannot be read.' })
  }
  return problemOf(thrown, logger)
}

function setSecurityHeaders(incoming: IncomingMessage, outgoing: ServerResponse, access: Access): void {
  outgoing.setHeader('X-Content-Type-Options', 'nosniff')
  outgoing.setHeader('Referrer-Policy', 'no-referrer')
  outgoing.setHeader('X-Frame-Options', 'DENY')
  outgoing.setHeader('Cross-Origin-Resource-Policy', 'same-origin')
  outgoing.setHeader('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'")
  outgoing.setHeader('Cache-Control', 'no-store')
  const origin = access.source.sharedOrigin(incoming)
  if (origin === undefined) return
  outgoing.setHeader('Vary', 'Origin')
  outgoing.setHeader('Access-Control-Allow-Origin', origin)
  outgoing.setHeader('Access-Control-Allow-Credentials', 'true')
  outgoing.setHeader('Access-Control-Expose-Headers', 'Content-Disposition')
}

function logWhenDone(incoming: IncomingMessage, outgoing: ServerResponse, logger: Logger): void {
  const start = performance.now()
  outgoing.once('close', () => {
    const status = outgoing.statusCode
    const line = {
      method: incoming.method,
      path: loggablePath(incoming.url ?? ''),
      status,
      ms: Math.round((performance.now() - start) * 10) / 10,
    }
    if (status === 401 || status === 403) logger.info(line, 'refused')
    else logger.debug(line, 'request')
  })
}

/** Without the query, and without the code of a one-time link. */
export function loggablePath(url: string): string {
  const path = url.split(/[?#]/, 1)[0] ?? ''
  let decoded = path
  try {
    decoded = decodeURIComponent(path)
  } catch {}
  return decoded.replace(/open\/.*/is, 'open/***').slice(0, 300)
}
