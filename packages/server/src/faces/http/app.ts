import type { IncomingMessage, ServerResponse } from 'node:http'
import { defined, openapiDocument, ParleyError, type Route, routes } from '@parley/protocol'
import { Hono } from 'hono'
import { cutWhenRevoked } from './authentication.ts'
import { mountConsole, wantsPage } from './console.ts'
import { type App, type AppParts, mount, type RequestContext } from './mount.ts'
import { problem, problemOf, problemResponse } from './problem.ts'
import { createFailureRecord } from './recorded-routes.ts'
import { mountAgents } from './routes/agents.ts'
import { mountChat } from './routes/chat.ts'
import { mountDecisionLinks } from './routes/decision-links.ts'
import { mountDevices } from './routes/devices.ts'
import { mountEvents } from './routes/events.ts'
import { mountExport } from './routes/export.ts'
import { mountLedger } from './routes/ledger.ts'
import { mountMetrics } from './routes/metrics.ts'
import { mountNodes } from './routes/nodes.ts'
import { mountPeople } from './routes/people.ts'
import { mountPermissions } from './routes/permissions.ts'
import { mountProjects } from './routes/projects.ts'
import { mountRounds } from './routes/rounds.ts'
import { mountSearch } from './routes/search.ts'
import { mountSessions } from './routes/sessions.ts'
import { mountSnapshots } from './routes/snapshots.ts'
import { mountTargets } from './routes/targets.ts'
import { mountTerminals } from './routes/terminals.ts'
import { mountViewed } from './routes/viewed.ts'
import { mountWorkspace } from './routes/workspace.ts'
import { mountWorktrees } from './routes/worktrees.ts'

/** All routes, behind the checks that every request passes. */
export function createApp(parts: AppParts): App {
  const app: App = new Hono()
  const { authentication, logger, version } = parts

  app.use('*', async (context, next) => {
    const { incoming, outgoing } = context.env
    // A request from a node is not checked: that node has checked the source of the request.
    const isFromNode = authentication.isFromNode(incoming)
    if (!isFromNode) authentication.source.check(incoming)
    if (context.req.method === 'OPTIONS' && authentication.source.sharedOrigin(incoming)) return preflight()
    if (isFromNode || needsToken(context.req)) {
      await authentication.learn(incoming)
      const caller = authentication.checkCaller(incoming)
      context.set('caller', caller)
      if (caller.kind === 'node') setPeerHeaders(parts, incoming, outgoing)
      context.set('keepWhenRevoked', cutWhenRevoked(caller, outgoing))
    }
    return next()
  })

  mount(app, parts, routes.health, ({ query: { challenge } }) => ({
    ok: true as const,
    version,
    ...defined({ instance: parts.instance }),
    ...(challenge !== undefined && defined({ proof: parts.prove?.(challenge) })),
  }))
  mount(app, parts, routes.openapi, () => openapiDocument(version))
  app.get('/api/ws', () => {
    throw new ParleyError('validation_error', 'Connect to /api/ws with a WebSocket.')
  })
  mountAgents(app, parts)
  mountSessions(app, parts)
  mountProjects(app, parts)
  mountWorktrees(app, parts)
  mountRounds(app, parts)
  mountSearch(app, parts)
  mountEvents(app, parts)
  mountExport(app, parts)
  mountChat(app, parts)
  mountPermissions(app, parts)
  mountViewed(app, parts)
  mountWorkspace(app, parts)
  mountTerminals(app, parts)
  mountDevices(app, parts)
  mountPeople(app, parts)
  mountDecisionLinks(app, parts)
  mountTargets(app, parts)
  mountLedger(app, parts)
  mountMetrics(app, parts)
  mountNodes(app, parts)
  mountSnapshots(app, parts)
  const unknownPage = mountConsole(app, parts)

  app.notFound((context) => {
    const answer = noRoute(app, context)
    return answer.status === 404 && wantsPage(context) ? unknownPage() : problemResponse(answer)
  })
  const recordFailure = createFailureRecord(parts.host)
  app.onError((error, { req, env }) => {
    void recordFailure(error, req.path, authentication.clientAddress(env.incoming)).catch((thrown) =>
      logger.error({ err: thrown }, 'could not record a failed sign-in'),
    )
    return problemResponse(problemOf(error, logger))
  })
  return app
}

function setPeerHeaders({ peers }: AppParts, incoming: IncomingMessage, outgoing: ServerResponse): void {
  for (const [name, value] of Object.entries(peers?.answerHeaders(incoming) ?? {}))
    outgoing.setHeader(name, value)
}

const openRoutes = Object.values(routes as Record<string, Route>)
  .filter(({ scope }) => scope === 'open')
  .map(({ method, path }) => ({ method, pattern: patternOf(path) }))

function needsToken({ method, path }: { method: string; path: string }): boolean {
  if (path === routes.metrics.path) return true
  if (path !== '/api' && !path.startsWith('/api/')) return false
  const asked = method === 'HEAD' ? 'GET' : method
  return !openRoutes.some((route) => route.method === asked && route.pattern.test(path))
}

function noRoute(app: App, context: RequestContext) {
  const { method, path } = context.req
  const allowed = app.routes
    .filter((route) => route.method !== 'ALL' && patternOf(route.path).test(path))
    .map((route) => route.method)
  if (allowed.length === 0) {
    return problem({
      code: 'not_found',
      message: 'No such route; /api/openapi.json lists the routes.',
    })
  }
  const allow = [...new Set(allowed)].join(', ')
  return problem(
    { code: 'not_supported', message: `${method} is not supported here; use ${allow}.`, details: { allow } },
    { status: 405, headers: { Allow: allow } },
  )
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+')}$`)
}

function preflight(): Response {
  return new Response(null, {
    status: 204,
    headers: {
      'Access-Control-Allow-Methods': 'GET, POST, PATCH, DELETE',
      'Access-Control-Allow-Headers': 'Authorization, Content-Type, Last-Event-ID',
      'Access-Control-Max-Age': '600',
    },
  })
}
