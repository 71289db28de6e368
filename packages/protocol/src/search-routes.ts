import { z } from 'zod'
import { AgentId, SessionId } from './ids.ts'
import { limit, type RouteDefinition } from './route.ts'
import { SearchKind, SearchPage } from './search.ts'

const kind = SearchKind.options.join('|')
const kinds = z
  .string()
  .regex(new RegExp(`^(${kind})(,(${kind}))*$`), `${SearchKind.options.join(', ')}, separated by commas`)
  .optional()
  .meta({ description: 'The kinds of text to search, separated by commas; all by default' })

export const searchRoutes = {
  search: {
    method: 'GET',
    path: '/api/search',
    summary: 'Search the text of all sessions for events that contain all the given words',
    scope: 'read',
    limits: 'handled',
    query: z.object({
      q: z.string().max(400).meta({ description: 'The words; the last one may be incomplete' }),
      in: kinds,
      agent: AgentId.optional(),
      session: SessionId.optional(),
      folder: z.string().optional().meta({ description: 'Only sessions in this folder or below it' }),
      limit: limit(100, 20),
      cursor: z.string().optional(),
    }),
    reply: SearchPage,
  },
} as const satisfies Record<string, RouteDefinition>
