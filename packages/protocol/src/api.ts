import { z } from 'zod'
import { accessRoutes } from './access-routes.ts'
import { agentRoutes } from './agent-routes.ts'
import { alertRoutes } from './alert-routes.ts'
import { chatRoutes } from './chat-routes.ts'
import { decisionLinkRoutes } from './decision-link-routes.ts'
import { ledgerRoutes } from './ledger-routes.ts'
import { NodeCheck, NodeList, SessionNode } from './node.ts'
import { operationRoutes } from './operation-routes.ts'
import { peopleRoutes } from './people-routes.ts'
import { permissionRoutes } from './permission-routes.ts'
import { projectRoutes } from './project-routes.ts'
import { roundRoutes } from './round-routes.ts'
import { bySession, NoContent, type Route, type RouteDefinition } from './route.ts'
import { searchRoutes } from './search-routes.ts'
import { sessionRoutes } from './session-routes.ts'
import { workspaceRoutes } from './workspace-routes.ts'
import { worktreeRoutes } from './worktree-routes.ts'

export { type Route, scopesOfQuery, scopesOfRoute } from './route.ts'

const definitions = {
  health: {
    method: 'GET',
    path: '/api/health',
    summary: 'Health check; needs no token',
    scope: 'open',
    limits: 'none',
    query: z.object({
      challenge: z
        .string()
        .regex(/^[\w-]{43}$/, '32 random bytes as base64url')
        .optional()
        .meta({ description: 'Asks the server to prove that it wrote the owner record of its data folder' }),
    }),
    reply: z.object({
      ok: z.literal(true),
      version: z.string(),
      instance: z
        .string()
        .optional()
        .meta({ description: 'Identifies this run of the server; changes with each start' }),
      proof: z.string().optional().meta({
        description:
          'HMAC of the challenge with the secret of the owner record; present if a challenge was sent',
      }),
    }),
  },
  ...agentRoutes,
  ...alertRoutes,
  ...sessionRoutes,
  ...projectRoutes,
  ...roundRoutes,
  ...searchRoutes,
  ...chatRoutes,
  ...workspaceRoutes,
  ...worktreeRoutes,
  ...permissionRoutes,
  ...decisionLinkRoutes,
  ...accessRoutes,
  ...peopleRoutes,
  ...operationRoutes,
  ...ledgerRoutes,
  listNodes: {
    method: 'GET',
    path: '/api/nodes',
    summary: 'List the nodes on the database of this server, oldest first; on SQLite, this server alone',
    scope: 'read',
    limits: 'none',
    query: z.object({
      check: NodeCheck.optional().meta({
        description:
          'peers: send a request to every living node at its URL; all: also let every node send one to every other node',
      }),
    }),
    reply: NodeList,
  },
  getSessionNode: {
    method: 'GET',
    path: '/api/sessions/:id/node',
    summary: 'Get the machine that the folder of a session is on, and the node that owns the session',
    scope: 'read',
    limits: 'session',
    params: bySession,
    reply: SessionNode,
  },
  metrics: {
    method: 'GET',
    path: '/metrics',
    summary: 'Get counters, histograms and gauges in the text format of Prometheus',
    scope: 'read',
    limits: 'refused',
    reply: z.string(),
    also: ['text/plain'],
  },
  openapi: {
    method: 'GET',
    path: '/api/openapi.json',
    summary: 'Get this description, as OpenAPI',
    scope: 'any',
    limits: 'none',
    reply: z.record(z.string(), z.unknown()),
  },
} as const satisfies Record<string, RouteDefinition>

type Routes = {
  readonly [Name in keyof typeof definitions]: (typeof definitions)[Name] & { readonly status: number }
}

/** The HTTP routes. The server, the client and the OpenAPI document read this list. */
export const routes = Object.fromEntries(
  Object.entries<RouteDefinition>(definitions).map(([name, route]): [string, Route] => [
    name,
    { status: route.reply === NoContent ? 204 : 200, ...route },
  ]),
) as Routes

export type RouteName = keyof typeof routes
export type ReplyOf<Name extends RouteName> = z.infer<(typeof routes)[Name]['reply']>
