import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ClientFrameInput, ServerFrame } from '@parley/protocol'
import { type WebSocket, WebSocketServer } from 'ws'

/**
 * A server that a test controls frame by frame, for behaviour that a real server never shows, such as omitting an
 * event.
 */
export type WirePeer = AsyncDisposable & {
  readonly url: string
  readonly upgrades: IncomingMessage[]
  readonly requests: { readonly path: string; readonly authorization: string | undefined }[]
  /** The next socket that connects. */
  accept(): Promise<PeerSocket>
}

export type PeerSocket = {
  /** Resolves with the next frame of this type, or of any type; drops the frames before it. */
  next<Type extends ClientFrameInput['type']>(type?: Type): Promise<ClientFrameInput & { type: Type }>
  send(...frames: ServerFrame[]): void
  sendText(text: string): void
  cut(): void
  close(code: number): void
  readonly closed: Promise<unknown>
}

export type WirePeerOptions = {
  readonly heartbeatMs?: number
  readonly respond?: (request: IncomingMessage, response: ServerResponse) => void
  readonly refuseUpgrade?: boolean
}

export async function startWirePeer(options: WirePeerOptions = {}): Promise<WirePeer> {
  const requests: WirePeer['requests'] = []
  const upgrades: IncomingMessage[] = []
  const http = createServer((request, response) => {
    requests.push({ path: request.url ?? '', authorization: request.headers.authorization })
    if (options.respond) return options.respond(request, response)
    response.setHeader('content-type', 'application/json').end('{"ok":true,"version":"peer"}')
  })
  const sockets = new WebSocketServer({ noServer: true })
  const accepted = createQueue<PeerSocket>()
  http.on('upgrade', (request, socket, head) => {
    upgrades.push(request)
    if (options.refuseUpgrade) return void socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
    sockets.handleUpgrade(request, socket, head, (ws) => accepted.give(peerSocket(ws, options)))
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    upgrades,
    requests,
    accept: () => accepted.take(),
    async [Symbol.asyncDispose]() {
      for (const ws of sockets.clients) ws.terminate()
      http.close()
      http.closeAllConnections()
      await once(http, 'close')
    },
  }
}

function peerSocket(ws: WebSocket, { heartbeatMs = 60_000 }: WirePeerOptions): PeerSocket {
  const frames = createQueue<ClientFrameInput>()
  const sendText = (text: string) => ws.send(text)
  ws.on('message', (data) => {
    const frame = JSON.parse(String(data)) as ClientFrameInput
    if (frame.type === 'hello') sendText(JSON.stringify({ type: 'welcome', version: 'peer', heartbeatMs }))
    frames.give(frame)
  })
  return {
    async next(type) {
      for (;;) {
        const frame = await frames.take()
        if (type === undefined || frame.type === type)
          return frame as ClientFrameInput & { type: typeof type }
      }
    },
    send(...list) {
      for (const frame of list) sendText(JSON.stringify(frame))
    },
    sendText,
    cut: () => ws.terminate(),
    close: (code) => ws.close(code),
    closed: once(ws, 'close'),
  }
}

function createQueue<Item>() {
  const items: Item[] = []
  const takers: ((item: Item) => void)[] = []
  return {
    give(item: Item) {
      const taker = takers.shift()
      if (taker) taker(item)
      else items.push(item)
    },
    take(): Promise<Item> {
      const item = items.shift()
      return item === undefined ? new Promise((resolve) => takers.push(resolve)) : Promise.resolve(item)
    },
  }
}
