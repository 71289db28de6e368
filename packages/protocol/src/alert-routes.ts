import { z } from 'zod'
import { LastDelivery, NewTarget, Target, TargetPatch } from './alert.ts'
import { TargetId } from './ids.ts'
import { NoContent, type RouteDefinition } from './route.ts'

const byTarget = z.object({ id: TargetId })

/** The routes for the targets of alerts. */
export const alertRoutes = {
  listTargets: {
    method: 'GET',
    path: '/api/targets',
    summary: 'List the targets of the caller; with the scope admin, those of all people',
    scope: 'read',
    limits: 'handled',
    reply: z.object({
      targets: z.array(Target),
      pushKey: z
        .string()
        .meta({ description: 'The public key of this server, with which a browser subscribes (VAPID)' }),
    }),
  },
  createTarget: {
    method: 'POST',
    path: '/api/targets',
    summary:
      'Add a target. A browser adds itself; webhooks and ntfy topics need the scope admin. A target gets alerts about the sessions that the caller may read',
    scope: 'read',
    limits: 'handled',
    body: NewTarget,
    reply: Target.extend({
      secret: z.string().optional().meta({
        description: 'The secret that signs the requests of a webhook; it is not shown again',
      }),
    }),
    status: 201,
  },
  patchTarget: {
    method: 'PATCH',
    path: '/api/targets/:id',
    summary: 'Change the name, the kinds of alerts or the detail of a target; disable or enable it',
    scope: 'read',
    limits: 'handled',
    params: byTarget,
    body: TargetPatch,
    reply: Target,
  },
  removeTarget: {
    method: 'DELETE',
    path: '/api/targets/:id',
    summary: 'Remove a target, with the alerts that wait to be sent to it',
    scope: 'read',
    limits: 'handled',
    params: byTarget,
    reply: NoContent,
  },
  testTarget: {
    method: 'POST',
    path: '/api/targets/:id/test',
    summary: 'Send a test alert to a target now, once, and return the result',
    scope: 'read',
    limits: 'handled',
    params: byTarget,
    reply: LastDelivery,
  },
} as const satisfies Record<string, RouteDefinition>
