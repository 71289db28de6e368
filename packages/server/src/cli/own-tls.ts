import { request } from 'node:https'
import { Readable } from 'node:stream'
import { WebSocket as WsSocket } from 'ws'

/**
 * Requests to the server of this data folder if it uses TLS. Its certificate is for the host name that browsers use,
 * and may be expired or come from a private authority. Therefore the certificate is not checked. Instead, the server
 * proves with the secret of the owner record that it wrote the record, as it does without TLS. The address must be the
 * address of the record.
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
