import type { ServerResponse } from 'node:http'
import type { HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import {
  type Actor,
  type ChatRequest,
  type NodeCheck,
  type NodeList,
  type Route,
  type SessionNode,
  scopesOfQuery,
  scopesOfRoute,
  type UiMessage,
  validationError,
} from '@parley/protocol'
import type { Context, Hono } from 'hono'
import type { Logger } from 'pino'
import {
  actorOf,
  type Caller,
  type DecideByLink,
  expectNoLimits,
  expectReach,
  expectScopes,
  hostActingFor,
  hostFor,
} from '../../access/index.ts'
import type { Targets } from '../../alerts/targets.ts'
import type { DecisionLinkStore } from '../../core/decision-link-store.ts'
import type { Host } from '../../core/index.ts'
import type { ViewedStore } from '../../core/viewed-store.ts'
import { pagePolicy } from '../../transcripts/documents/html.ts'
import type { Workspace } from '../../workspace/index.ts'
import type { Terminals } from '../../workspace/terminals.ts'
import { type OtherNodes, passedActor } from '../other-nodes.ts'
import type { Authentication, PeerAuthentication } from './authentication.ts'
import type { ChangeStreams } from './change-streams.ts'
import { clientKey } from './client-address.ts'
import type { CommandLine } from './command-line.ts'
import { readJson } from './json-body.ts'
import type { OidcSettings } from './oidc/settings.ts'
import { recordRequest } from './recorded-routes.ts'
import type { EventStreams } from './sse.ts'

type Env = {
  Bindings: HttpBindings
  Variables: {
    /** The authenticated caller, on routes that need a token and for requests of nodes. */
    caller: Caller
    /** Prevents a later revocation of the caller's device from destroying this response. */
    keepWhenRevoked: () => void
    /** The data that the ledger records of the request in addition to its body and its reply. */
    noted: Readonly<Record<string, unknown>> | undefined
  }
}
export type App = Hono<Env>
export type RequestContext = Context<Env>

export type AppParts = {
  readonly host: Host
  readonly workspace: Workspace
  /** The shells of sessions; if not given, there are none. */
  readonly terminals?: Terminals | undefined
  readonly authentication: Authentication
  readonly streams: EventStreams
  readonly changeStreams: ChangeStreams
  readonly logger: Logger
  readonly version: string
  /** Identifies this run of the server. The owner record in the data folder contains the same value. */
  readonly instance?: string
  readonly prove?: Prove
  readonly bodyLimit: number
  readonly address: ReachedAt
  readonly commandLine: CommandLine
  /** The chat face. Without it, the chat routes answer that it is not available. */
  readonly chat?: ChatHandler | undefined
  /** The metrics; without them, the route answers that there are none. */
  readonly metrics?: MetricsWriter | undefined
  /** The nodes on the database. If not given, this server is the only one. */
  readonly nodes?: NodeDirectory | undefined
  /** Copies the database into the data folder. Absent if this server has no database of its own. */
  readonly snapshot?: TakeSnapshot | undefined
  /** The targets of alerts. Without them, the routes answer that alerts are not available. */
  readonly targets?: (() => Promise<Targets>) | undefined
  /** Stores decision links. Without it, the routes answer that decision links are not available. */
  readonly decisionLinks?: DecisionLinkStore | undefined
  /** The decisions that decision links may make. Default: `deny`. */
  readonly decideByLink?: DecideByLink | undefined
  /** Stores the changed files that people have viewed. Without it, the routes answer that this is not available. */
  readonly viewed?: ViewedStore | undefined
  /** The time in milliseconds since 1970, which a test may control. */
  readonly clock?: (() => number) | undefined
  readonly consoleFolder?: string | undefined
  readonly peers?: PeerAuthentication | undefined
  readonly otherNodes?: OtherNodes | undefined
  /** Lets people sign in with an OpenID provider. */
  readonly oidc?: OidcSettings | undefined
}

/** The URLs at which browsers reach the server. */
export type ReachedAt = {
  /** The public URL, or else the URL at which the server listens, without a slash at the end. */
  readonly url: string
  /** The URL at which the server listens. */
  readonly ownUrl: string
  /** The path of `url`, with a slash at the end. */
  readonly basePath: string
  isPublic(): boolean
  /** Changes the public URL until the server ends. Throws ParleyError `validation_error` for an unusable URL. */
  set(url: string): void
}

/** Returns a proof that this server wrote the owner record, for programs that have read the record. */
export type Prove = (challenge: string) => string

type ChatReader = { readonly outgoing: ServerResponse; readonly sdk: 6 | 7; readonly host: Host }

export type ChatHandler = {
  send(body: ChatRequest, reader: ChatReader): Promise<void>
  resume(chatId: string, reader: ChatReader): Promise<boolean>
  stop(chatId: string, host: Host): Promise<void>
  messages(chatId: string, host: Host): Promise<UiMessage[]>
}

/** The metrics as text. `now` contains the values that the face itself counts. */
export type MetricsWriter = (now: {
  readonly version: string
  readonly clients: Readonly<Record<string, number>>
  readonly waiting: Readonly<Record<string, number>>
}) => string | Promise<string>

export type NodeDirectory = {
  list(check?: NodeCheck): Promise<NodeList>
  /** Rejects with ParleyError `not_found` if there is no such session. */
  ofSession(sessionId: string): Promise<SessionNode>
}

/** Copies the database to a new file, and returns the name and the size of the file. */
export type TakeSnapshot = (name: string) => Promise<{ file: string; bytes: number }>

type Schema = NonNullable<Route['body']>
type Output<S> = S extends { parse(value: unknown): infer Value } ? Value : undefined
type Field<R, Name extends string> = R extends { readonly [N in Name]: infer S } ? Output<S> : undefined
// biome-ignore lint/suspicious/noConfusingVoidType: the handler of a route without a reply may return Promise<void>
type NoReply<R extends Route> = null extends Output<R['reply']> ? void : never
type Reply<R extends Route> = Output<R['reply']> | Response | NoReply<R>

export type Call<R extends Route> = {
  readonly params: Field<R, 'params'>
  readonly query: Field<R, 'query'>
  readonly body: Field<R, 'body'>
  readonly context: RequestContext
  /**
   * The host for the caller, which permits only operations within the caller's rights. An open route must not use it.
   */
  readonly host: Host
  /** The actor that sent the request. Undefined on an open route. */
  readonly actor: Actor | undefined
}

/** The largest body of a route that needs no token, such as the routes for signing in. */
const openBodyBytes = 64 * 1024

type MountParts = Pick<AppParts, 'bodyLimit' | 'otherNodes' | 'host' | 'authentication'>

/**
 * Mounts a route of the protocol. A handler returns the reply, nothing if the route has none, or a Response if the
 * reply is not plain JSON.
 */
export function mount<R extends Route>(
  app: App,
  { bodyLimit, otherNodes, host: wholeHost, authentication }: MountParts,
  route: R,
  handle: (call: Call<R>) => Promise<Reply<R>> | Reply<R>,
): void {
  const limit = route.scope === 'open' ? Math.min(bodyLimit, openBodyBytes) : bodyLimit
  app.on(route.method, [route.path], async (context) => {
    const host = hostOf(context, route, wholeHost)
    const params = checked(route.params, 'The path', context.req.param())
    const query = checked(route.query, 'The query', context.req.query())
    if (route.scope !== 'open' && !isFromNode(context))
      expectScopes(context.get('caller').principal, scopesOfQuery(route, query))
    const body = route.body
      ? checked(route.body, 'The body', await readJson(context.env.incoming, limit))
      : undefined
    const actor = actorOfRequest(context, route)
    const address = authentication.clientAddress(context.env.incoming)
    const request = { route, params, query, body, actor, address, ...requestOf(context) }
    // A session outside the limits of the caller is refused before another node is asked.
    if (route.limits === 'session' && !isFromNode(context))
      await expectReach(wholeHost, context.get('caller').principal, String(params?.id))
    if (await otherNodes?.answer(request)) return RESPONSE_ALREADY_SENT
    const reply = await handle({ params, query, body, context, host, actor } as Call<R>)
    const noted = context.get('noted')
    await recordRequest(wholeHost, route, { params, query, body, reply, noted }, { actor, address })
    if (reply instanceof Response) return reply
    return reply == null
      ? new Response(null, { status: route.status })
      : json(JSON.stringify(reply), route.status)
  })
}

/** The host for the caller of a route. Throws ParleyError `forbidden` if the caller may not call the route. */
function hostOf(context: RequestContext, route: Route, host: Host): Host {
  const caller = context.get('caller')
  if (route.scope === 'open') return host
  if (caller.kind === 'node') return hostActingFor(host, passedActor(context.env.incoming))
  const { principal } = caller
  expectScopes(principal, scopesOfRoute(route))
  if (route.limits === 'refused') expectNoLimits(principal)
  return hostFor(host, principal, viaOf(route))
}

function actorOfRequest(context: RequestContext, route: Route): Actor | undefined {
  if (route.scope === 'open') return undefined
  if (isFromNode(context)) return passedActor(context.env.incoming)
  return actorOf(context.get('caller').principal, viaOf(route))
}

function viaOf({ path }: Route): Actor['via'] {
  return path.startsWith('/api/chat') ? 'chat' : 'http'
}

function requestOf(context: RequestContext) {
  const { incoming, outgoing } = context.env
  return { incoming, outgoing, isFromNode: isFromNode(context) }
}

export function isFromNode(context: RequestContext): boolean {
  return context.get('caller')?.kind === 'node'
}

/** The key of the client for rate limits, even if another node has passed the request on. */
export function clientOf({ authentication, otherNodes }: AppParts, context: RequestContext): string {
  const { incoming } = context.env
  const passed = isFromNode(context) ? otherNodes?.clientAddress(incoming) : undefined
  return clientKey(passed ?? authentication.clientAddress(incoming))
}

/** The URL in a link: the public URL, or else the URL of the requesting page, because a browser has reached it. */
export function urlFor({ address, authentication }: AppParts, { env }: RequestContext): string {
  const page = address.isPublic() ? undefined : authentication.source.pageOrigin(env.incoming)
  return page ?? address.url
}

export function json(text: string, status = 200): Response {
  return new Response(text, { status, headers: { 'Content-Type': 'application/json; charset=UTF-8' } })
}

export function htmlResponse(text: string, status: number, headers: Record<string, string> = {}): Response {
  return new Response(text, {
    status,
    headers: {
      'Content-Type': 'text/html; charset=UTF-8',
      'Content-Security-Policy': `${pagePolicy}; frame-ancestors 'none'`,
      ...headers,
    },
  })
}

function checked(schema: Schema | undefined, what: string, value: unknown) {
  if (!schema) return undefined
  const result = schema.safeParse(value)
  if (!result.success) throw validationError(what, result.error)
  return result.data as Record<string, unknown>
}

/** Whether the request asks for server-sent events instead of one answer. */
export function wantsStream({ req }: RequestContext): boolean {
  return req.method === 'GET' && /\btext\/event-stream\b/i.test(req.header('Accept') ?? '')
}
