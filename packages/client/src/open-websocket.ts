export type WebSocketTarget = {
  /** The server's address, as for HTTP. */
  readonly url: string
  readonly path: string
  /** Sent as a header where that is possible; in a browser the cookie does it. Never in the address. */
  readonly token?: string | undefined
  readonly WebSocket?: typeof WebSocket | undefined
}

export function openWebSocket({ url, path, token, ...given }: WebSocketTarget): WebSocket {
  const Constructor = given.WebSocket ?? globalThis.WebSocket
  const address = `${url.replace(/^http/, 'ws')}${path}`
  if (token === undefined || isBrowser()) return new Constructor(address)
  const withHeaders = Constructor as unknown as new (
    address: string,
    options: { headers: Record<string, string> },
  ) => WebSocket
  return new withHeaders(address, { headers: { authorization: `Bearer ${token}` } })
}

/** Pages and workers: there the second argument of WebSocket can only be a list of protocols. */
export function isBrowser(): boolean {
  return 'document' in globalThis || 'WorkerGlobalScope' in globalThis
}
