import { z } from 'zod'
import { AgentId, SessionId } from './ids.ts'

export type RouteDefinition = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: string
  summary: string
  open?: true
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
