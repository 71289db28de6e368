import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { ParleyError } from '@parley/protocol'
import type { Logger } from 'pino'
import type { Authentication } from './authentication.ts'
import type { CertificateFiles } from './certificate.ts'
import { createHttpFace, type FaceLimits, type FaceSettings } from './http-face.ts'
import type { ReachedAt } from './mount.ts'
import { urlHost } from './request-source.ts'

export type ServeSettings = Omit<FaceSettings, 'bound' | 'limits'> & {
  readonly hostname: string
  /** 0 picks a free port. */
  readonly port: number
  readonly limits?: Partial<HttpLimits>
  readonly tls?: CertificateFiles | undefined
}

export type HttpLimits = FaceLimits & {
  readonly closeGraceMs: number
}

export type HttpServer = {
  readonly url: string
  readonly port: number
  readonly server: Server
  readonly address: ReachedAt
  readonly authentication: Authentication
  /** A new one-time link that signs a browser in, valid for a day. */
  link(): string
  /**
   * Ends streams, gives requests a short time to finish, then destroys every socket. The WebSocket face must be
   * closed first.
   */
  close(): Promise<void>
}

const usualGraceMs = 1000

export async function startServer(settings: ServeSettings): Promise<HttpServer> {
  const { hostname, tls } = settings
  let { port } = settings
  const isSecure = tls !== undefined
  const face = createHttpFace({ ...settings, bound: () => ({ hostname, port, isSecure }) })
  const traffic = createTraffic()
  const answer: RequestListener = (incoming, outgoing) => {
    traffic.enter(outgoing)
    face.answer(incoming, outgoing)
  }
  const options = { shouldUpgradeCallback: asksForWebSocket }
  const secure = tls && (await startTls(tls, options, answer))
  const server = secure?.server ?? createServer(options, answer)
  server.on('connection', traffic.connect)
  server.on('upgrade', face.upgrade)

  port = await listen(server, hostname, port)
  const unfollow = secure?.follow(settings.logger)
  let closing: Promise<void> | undefined
  return {
    url: face.url(),
    port,
    server,
    address: face.address,
    authentication: face.authentication,
    link: face.link,
    close: () => {
      unfollow?.()
      const graceMs = settings.limits?.closeGraceMs ?? usualGraceMs
      closing ??= close(server, traffic, { streams: face, graceMs })
      return closing
    },
  }
}

/** The code for TLS is loaded only if it is used. */
async function startTls(files: CertificateFiles, options: ServerOptions, answer: RequestListener) {
  const [{ readCertificate, followCertificate }, https] = await Promise.all([
    import('./certificate.ts'),
    import('node:https'),
  ])
  const { cert, key } = readCertificate(files)
  const server = https.createServer({ ...options, cert, key }, answer)
  return { server, follow: (logger: Logger) => followCertificate(server, files, logger) }
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
      `${where} is in use: stop the program that listens there, or choose another port with --port (0 picks a free one).`,
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

/** Tracks running requests and open sockets: closing waits for the requests and destroys the sockets. */
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

/**
 * Whether the request asks for a WebSocket. Other upgrades, such as a client's offer of HTTP/2, are ignored, and the
 * request is answered normally.
 */
function asksForWebSocket(request: IncomingMessage): boolean {
  return request.headers.upgrade?.toLowerCase() === 'websocket'
}
