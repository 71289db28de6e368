import { z } from 'zod'
import type { RouteDefinition } from './route.ts'

/** The routes for operators of a server. */
export const operationRoutes = {
  createSnapshot: {
    method: 'POST',
    path: '/api/snapshots',
    summary:
      'Copy the database, while it is used, to a file in the data folder, which parley backup collects. Its content is not sent',
    scope: 'admin',
    limits: 'none',
    body: z.strictObject({
      name: z
        .string()
        .regex(/^[a-z0-9]{16}$/, '16 letters and digits')
        .meta({ description: 'A part of the name of the file' }),
    }),
    reply: z.object({
      file: z.string().meta({ description: 'The name in the data folder' }),
      bytes: z.int(),
    }),
    status: 201,
  },
} as const satisfies Record<string, RouteDefinition>
