import {
  type ErrorCode,
  type ErrorInfo,
  errorCodes,
  isRecord,
  ParleyError,
  type ReplyOf,
  type Route,
  type RouteName,
  routes,
} from '@parley/protocol'
import { createCredential, type TokenSource } from './credential.ts'
import { isBrowser } from './open-websocket.ts'

/** Typed calls for every route of the protocol. Every error is a ParleyError. */
export type Http = {
  /** The server's address, without a slash at the end. */
  readonly url: string
  readonly call: Call
  /**
   * Calls a route and yields its reply as server-sent events, each with its name and its data as text, until
   * the server or the signal ends the stream.
   */
  stream<Name extends RouteName>(name: Name, input: CallInput<Name>): AsyncGenerator<ServerSentEvent, void>
}

export type ServerSentEvent = { readonly event: string; readonly data: string }

export type HttpOptions = {
  readonly url: string
  readonly token?: TokenSource | undefined
  readonly fetch?: typeof fetch
  /** If the whole reply has not arrived after this time, the server counts as unreachable. */
  readonly timeoutMs?: number
}

type InputOf<Schema> = Schema extends { _zod: { input: infer Input } } ? Input : never
type OutputOf<Schema> = Schema extends { _zod: { output: infer Output } } ? Output : never
type RouteOf<Name extends RouteName> = (typeof routes)[Name]

export type CallInput<Name extends RouteName> = {
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number
} & (RouteOf<Name> extends { params: infer Params } ? { readonly params: OutputOf<Params> } : unknown) &
  (RouteOf<Name> extends { query: infer Query } ? { readonly query?: Partial<OutputOf<Query>> } : unknown) &
  (RouteOf<Name> extends { body: infer Body } ? { readonly body: InputOf<Body> } : unknown)

export type Call = <Name extends RouteName>(
  name: Name,
  ...input: object extends CallInput<Name> ? [input?: CallInput<Name>] : [input: CallInput<Name>]
) => Promise<ReplyOf<Name>>

type LooseInput = {
  params?: Record<string, unknown>
  query?: Record<string, unknown>
  body?: unknown
  signal?: AbortSignal
  timeoutMs?: number
}

export function createHttp(options: HttpOptions): Http {
  const url = baseUrl(options.url)
  const fetch = options.fetch ?? globalThis.fetch.bind(globalThis)
  const credential = createCredential(options.token)

  /**
   * Sends a request with the token. If the token is refused and another token is available, sends the request
   * again with the other token.
   */
  async function send(route: Route, input: LooseInput, init: RequestInit): Promise<Response> {
    const address = addressOf(url, route, input)
    const attempt = (token: string | undefined) =>
      fetch(address, {
        ...init,
        headers: {
          ...headersOf(route, input),
          ...(init.headers as Record<string, string> | undefined),
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
        },
      })
    const token = route.scope === 'open' ? undefined : await unlessAborted(credential.token(), init.signal)
    const response = await attempt(token)
    if (response.status !== 401 || route.scope === 'open') return response
    const other = await unlessAborted(credential.renew(token), init.signal)
    if (other === undefined) return response
    void response.body?.cancel().catch(() => {})
    return attempt(other)
  }

  async function call(name: RouteName, input: LooseInput = {}): Promise<unknown> {
    const route: Route = routes[name]
    const timeout = AbortSignal.timeout(input.timeoutMs ?? options.timeoutMs ?? 30_000)
    const signal = input.signal ? AbortSignal.any([input.signal, timeout]) : timeout
    try {
      const response = await send(route, input, {
        method: route.method,
        ...(input.body !== undefined && { body: JSON.stringify(input.body) }),
        signal,
      })
      const text = await response.text()
      return response.ok ? replyOf(route, response, text) : refuse(response, text)
    } catch (thrown) {
      if (thrown instanceof ParleyError) throw thrown
      if (input.signal?.aborted) throw cancelled(input.signal)
      throw unreachable(url, thrown)
    }
  }

  async function* stream(name: RouteName, input: LooseInput): AsyncGenerator<ServerSentEvent, void> {
    const route: Route = routes[name]
    try {
      const response = await send(route, input, {
        headers: { accept: 'text/event-stream' },
        ...(input.signal && { signal: input.signal }),
      })
      if (!response.ok) refuse(response, await response.text())
      yield* serverSentEvents(response.body)
    } catch (thrown) {
      if (thrown instanceof ParleyError) throw thrown
      if (input.signal?.aborted) throw cancelled(input.signal)
      throw unreachable(url, thrown)
    }
  }
  return { url, call: call as Call, stream: stream as Http['stream'] }
}

/** Resolves or rejects as the work does. If the signal aborts first, rejects with its reason, as `fetch` does. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | null | undefined): Promise<T> {
  if (!signal) return work
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

async function* serverSentEvents(body: ReadableStream<Uint8Array> | null) {
  if (!body) return
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      const blocks = (rest + decoder.decode(piece.value, { stream: true })).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1]
        const data = field('data')
        if (data !== undefined) yield { event: field('event') ?? 'message', data }
      }
    }
  } finally {
    void reader.cancel().catch(() => {})
  }
}

/** True if the server did not answer, so that trying again can help. */
export function isUnreachable(thrown: unknown): thrown is ParleyError {
  return thrown instanceof ParleyError && thrown.details?.reason === 'unreachable'
}

/**
 * The error for a server that does not answer. A browser does not tell a page whether the server is down or
 * refuses pages of its origin, so the message for a page of another origin covers both cases.
 */
export function unreachable(url: string, cause?: unknown): ParleyError {
  const origin = globalThis.location?.origin
  const isForeign = isBrowser() && origin !== undefined && origin !== new URL(url).origin
  const other = isForeign ? ` If it runs, allow pages of ${origin} with --allow-origin.` : ''
  return new ParleyError(
    'busy',
    `No Parley server answers at ${url}. Start Parley, or use the address that it printed.${other}`,
    {
      details: { reason: 'unreachable', url },
      cause,
    },
  )
}

export function cancelled(signal: AbortSignal): ParleyError {
  return new ParleyError('cancelled', 'The caller stopped waiting.', { cause: signal.reason })
}

/** The error for a page whose WebSocket the server closed because it does not allow the page's origin. */
export function forbiddenOrigin(): ParleyError {
  const origin = globalThis.location?.origin ?? 'this origin'
  const message = `Pages of ${origin} may not use this server. To allow them, start it with --allow-origin ${origin}.`
  return new ParleyError('forbidden', message, { details: { header: 'Origin' } })
}

/**
 * Returns a ParleyError unchanged. Any other thrown value is a defect of the client and becomes an internal
 * error.
 */
export function asParleyError(thrown: unknown): ParleyError {
  if (thrown instanceof ParleyError) return thrown
  return new ParleyError('internal_error', 'The client failed; see the cause of this error.', {
    cause: thrown,
  })
}

function baseUrl(url: string): string {
  const page = (globalThis as { location?: { href: string } }).location?.href
  let absolute: URL
  try {
    absolute = new URL(url, page)
  } catch (cause) {
    throw new ParleyError('validation_error', `"${url}" is not the address of a server.`, { cause })
  }
  return `${absolute.origin}${absolute.pathname.replace(/\/+$/, '')}`
}

function addressOf(url: string, route: Route, input: LooseInput): string {
  const path = route.path.replace(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(String(input.params?.[name])),
  )
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(input.query ?? {})) {
    if (value !== undefined) query.set(name, String(value))
  }
  const search = query.toString()
  return `${url}${path}${search ? `?${search}` : ''}`
}

function headersOf(route: Route, input: LooseInput): Record<string, string> {
  return {
    accept: isText(route) ? '*/*' : 'application/json',
    ...(input.body !== undefined && { 'content-type': 'application/json' }),
  }
}

/** True for a route whose reply is a file, not JSON. */
function isText(route: Route): boolean {
  return route.also?.includes('text/markdown') ?? false
}

function replyOf(route: Route, response: Response, text: string): unknown {
  if (response.status === 204) return null
  if (isText(route)) return text
  const json = parseJson(text)
  if (json !== undefined) return json
  throw new ParleyError(
    'internal_error',
    `The response of ${response.url} is not JSON. Check that it is a Parley server.`,
    { details: { status: response.status } },
  )
}

function refuse(response: Response, text: string): never {
  const { error } = (parseJson(text) ?? {}) as { error?: unknown }
  if (isErrorInfo(error)) throw ParleyError.from(error)
  const { status } = response
  if (status >= 502 && status <= 504) throw unreachable(new URL(response.url).origin)
  throw new ParleyError(
    codes[status] ?? 'internal_error',
    `${response.url} responded with status ${status} and no reason. Check that it is a Parley server.`,
    { details: { status } },
  )
}

/** Checked without a schema, because a page that uses this client need not contain zod. */
function isErrorInfo(value: unknown): value is ErrorInfo {
  if (!isRecord(value)) return false
  const { code, message, details } = value
  return (
    typeof message === 'string' &&
    (errorCodes as readonly unknown[]).includes(code) &&
    (details === undefined || isRecord(details))
  )
}

/** The error code for each HTTP status, for replies without an error code, such as those of a proxy. */
const codes: Record<number, ErrorCode> = {
  401: 'unauthorized',
  403: 'forbidden',
  413: 'too_large',
  429: 'rate_limited',
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
