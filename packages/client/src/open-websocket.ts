import { webSocketProtocols } from '@parley/protocol'

export type WebSocketTarget = {
  /** The server's address, as for HTTP. */
  readonly url: string
  readonly path: string
  /** Sent as a subprotocol, because a browser cannot set headers on a WebSocket. It is never part of the address. */
  readonly token?: string | undefined
  readonly WebSocket?: typeof WebSocket | undefined
}

export function openWebSocket({ url, path, token, ...given }: WebSocketTarget): WebSocket {
  const Constructor = given.WebSocket ?? globalThis.WebSocket
  return new Constructor(`${url.replace(/^http/, 'ws')}${path}`, webSocketProtocols(token))
}

/** True in pages and workers. */
export function isBrowser(): boolean {
  return 'document' in globalThis || 'WorkerGlobalScope' in globalThis
}
