import { z } from 'zod'
import { AgentId, SessionId } from './ids.ts'
import type { Scope } from './scope.ts'

/**
 * The callers of a route: callers with this scope or all these scopes, everybody (`open`), every authenticated caller
 * (`any`), or callers with the scopes of the command in the body (`command`).
 */
export type RouteScope = Scope | readonly Scope[] | 'open' | 'any' | 'command'

/** The scopes that every call of a route needs. */
export function scopesOfRoute({ scope }: Pick<RouteDefinition, 'scope'>): readonly Scope[] {
  if (typeof scope !== 'string') return scope
  return scope === 'open' || scope === 'any' || scope === 'command' ? [] : [scope]
}

/** The further scopes that a call of a route needs because of values in its query. */
export function scopesOfQuery(
  { scopesOfQuery: needed = {} }: Pick<RouteDefinition, 'scopesOfQuery'>,
  query: Readonly<Record<string, unknown>> = {},
): readonly Scope[] {
  return Object.entries(needed).flatMap(([name, scopes]) => scopes[String(query[name])] ?? [])
}

export type RouteDefinition = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: string
  summary: string
  scope: RouteScope
  /** Further scopes, by the name of a field in the query and its value. */
  scopesOfQuery?: Readonly<Record<string, Readonly<Record<string, readonly Scope[]>>>>
  /**
   * The way in which the limits of a caller apply. session: the parameter `id` names a session that must be within them. handled:
   * the handler or the host applies them. none: the reply is about no session, folder or agent. refused: a caller with
   * limits may not call the route. Routes with the scope `terminal` or `admin` have no callers with limits.
   */
  limits: 'session' | 'handled' | 'none' | 'refused'
  params?: z.ZodObject
  query?: z.ZodObject
  body?: z.ZodType
  reply: z.ZodType
  /** The HTTP status of a success. The default is 204 for a route without a reply, otherwise 200. */
  status?: number
  /** Other media types that the same path can answer with. */
  also?: string[]
}

export type Route = RouteDefinition & { status: number }

export const bySession = z.object({ id: SessionId })
export const byAgent = z.object({ id: AgentId })

export const whole = z
  .string()
  .regex(/^\d{1,15}$/, 'a whole number')
  .transform(Number)

export const limit = (max: number, byDefault: number) =>
  whole.pipe(z.int().min(1).max(max)).default(byDefault)

export const NoContent = z.null()
