import { type LookupAddress, type LookupOptions, lookup } from 'node:dns'
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP } from 'node:net'
import { ParleyError } from '@parley/protocol'
import { type AddressClass, classOf } from './address.ts'

/** The addresses to which requests may be sent, apart from public addresses over https. */
export type RequestRules = {
  /** Permits private addresses, and http at these addresses, for webhooks and ntfy servers. */
  readonly privateTargets?: boolean | undefined
  /** Origins of push services that may have any address that is not forbidden. */
  readonly pushServices?: readonly string[] | undefined
}

export type Answer = { readonly status: number; readonly retryAfterMs?: number }

export type Resolver = (
  hostname: string,
  options: LookupOptions & { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

export type SafeRequest = {
  /** Throws ParleyError `validation_error` if no request may be sent to the URL. Does not resolve the name. */
  check(url: string, kind: 'push' | 'other'): URL
  /** Sends a POST. Rejects if there is no answer in time, or if the address is not permitted. Follows no redirect. */
  post(
    url: string,
    kind: 'push' | 'other',
    content: { readonly headers: Record<string, string>; readonly body: Buffer | string },
  ): Promise<Answer>
  /** Ends every request that waits for an answer. */
  close(): void
}

/** The maximum number of bytes of an answer that are read. The content is not used. */
const answerBytes = 16_384

/**
 * Sends requests to addresses that other people chose. A name is resolved only once, and the request connects to the
 * checked address. A name is refused if one of its addresses is not permitted.
 */
export function createSafeRequest(
  rules: RequestRules,
  { timeoutMs = 15_000, resolve = lookup }: { readonly timeoutMs?: number; readonly resolve?: Resolver } = {},
): SafeRequest {
  const closing = new AbortController()
  const isListed = ({ origin }: URL, kind: string) =>
    kind === 'push' && rules.pushServices?.includes(origin) === true
  const mayBePrivate = (url: URL, kind: string) =>
    kind === 'push' ? isListed(url, kind) : rules.privateTargets === true
  const isPermitted = (url: URL, kind: string, found: AddressClass) =>
    found === 'public' ? url.protocol === 'https:' : found === 'private' && mayBePrivate(url, kind)

  function check(given: string, kind: 'push' | 'other'): URL {
    const url = URL.canParse(given) ? new URL(given) : undefined
    if (!url || !/^https?:$/.test(url.protocol)) throw refused(`"${given}" is not an http address.`)
    if (url.username !== '' || url.password !== '')
      throw refused('The address must not contain a user or a password.')
    if (url.protocol === 'http:' && !mayBePrivate(url, kind))
      throw refused(
        kind === 'push'
          ? 'The address must start with https://.'
          : 'The address must start with https://. An administrator can permit http and private addresses with alerts.privateTargets in config.json.',
      )
    const literal = literalOf(url)
    // Node does not call `lookup` for a literal address, so it is checked here.
    if (literal !== undefined && !isPermitted(url, kind, classOf(literal))) throw notPermitted(url.hostname)
    return url
  }

  return {
    check,
    post: (given, kind, { headers, body }) =>
      new Promise((settle, reject) => {
        const url = check(given, kind)
        const options: RequestOptions = {
          method: 'POST',
          headers: { 'user-agent': 'parley', 'content-length': Buffer.byteLength(body), ...headers },
          agent: false,
          signal: AbortSignal.any([closing.signal, AbortSignal.timeout(timeoutMs)]),
          lookup: checkingLookup(resolve, (address) => isPermitted(url, kind, classOf(address))),
        }
        const send = url.protocol === 'https:' ? httpsRequest : httpRequest
        const outgoing = send(url, options, (incoming) => {
          drain(incoming)
          settle(answerOf(incoming))
        })
        outgoing.on('error', (error) =>
          reject(
            error.name === 'AbortError'
              ? new Error(`There was no answer within ${timeoutMs / 1000} seconds.`)
              : error,
          ),
        )
        outgoing.end(body)
      }),
    close: () => closing.abort(),
  }
}

function literalOf({ hostname }: URL): string | undefined {
  const plain = hostname.replace(/^\[|\]$/g, '')
  return isIP(plain) === 0 ? undefined : plain
}

function checkingLookup(
  resolve: Resolver,
  isPermitted: (address: string) => boolean,
): NonNullable<RequestOptions['lookup']> {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? []
      if (error || !first) return callback(error ?? new Error(`${hostname} has no address.`), '', 0)
      if (!addresses.every(({ address }) => isPermitted(address)))
        return callback(notPermitted(hostname) as NodeJS.ErrnoException, '', 0)
      if (options.all) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  }
}

function answerOf({ statusCode = 0, headers }: IncomingMessage): Answer {
  const after = headers['retry-after']
  const ms = /^\d{1,9}$/.test(after ?? '') ? Number(after) * 1000 : Date.parse(after ?? '') - Date.now()
  return { status: statusCode, ...(ms > 0 && { retryAfterMs: ms }) }
}

/** Reads the rest of an answer, so that the connection ends normally. Closes the connection if the answer is long. */
function drain(incoming: IncomingMessage): void {
  let bytes = 0
  incoming.on('error', () => undefined)
  incoming.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > answerBytes) incoming.destroy()
  })
}

function notPermitted(hostname: string): ParleyError {
  return refused(
    `${hostname} is not a public address. An administrator can permit private addresses with alerts.privateTargets in config.json.`,
  )
}

function refused(message: string): ParleyError {
  return new ParleyError('validation_error', message)
}
