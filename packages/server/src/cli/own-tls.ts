import { request } from 'node:https'
import { Readable } from 'node:stream'
import { WebSocket as WsSocket } from 'ws'

/**
 * Requests to the server of this data folder if it uses TLS. Its certificate is for the name under which browsers reach
 * it, and may have expired or come from a private authority, so it is not checked: the server proves with the secret of
 * the owner record who it is, as it does without TLS. The address must be the one in that record.
 */
const unchecked = { rejectUnauthorized: false }

export const ownTlsFetch: typeof fetch = (input, init = {}) =>
  new Promise((resolve, reject) => {
    const { method = 'GET', headers, body, signal } = init
    const asked = request(String(input), {
      ...unchecked,
      method,
      headers: Object.fromEntries(new Headers(headers)),
      ...(signal && { signal }),
    })
    asked.on('response', (response) => {
      const { statusCode = 502, headers: given } = response
      const known = Object.entries(given).map(([name, value]): [string, string] => [name, String(value)])
      const isEmpty = statusCode === 204 || statusCode === 304
      if (isEmpty) response.resume()
      const content = isEmpty ? null : (Readable.toWeb(response) as ReadableStream<Uint8Array>)
      resolve(new Response(content, { status: statusCode, headers: known }))
    })
    asked.on('error', (error) => reject(signal?.aborted ? signal.reason : error))
    asked.end(body as string | undefined)
  })

export const OwnTlsWebSocket = class extends WsSocket {
  constructor(address: string | URL, protocols?: string | string[]) {
    super(address, protocols, unchecked)
  }
} as unknown as typeof WebSocket
