import { z } from 'zod'
import { type Route, routes } from './api.ts'
import { Command } from './command.ts'
import { Delta } from './delta.ts'
import { ErrorBody } from './error.ts'
import { SessionEvent } from './event.ts'
import { ClientFrame, ServerFrame } from './feed.ts'
import { SessionState } from './session-state.ts'

const jsonSchema = (schema: z.ZodType, io: 'input' | 'output') =>
  z.toJSONSchema(schema, { io, unrepresentable: 'any', target: 'draft-2020-12' })

/** The wire formats as JSON Schema: events, deltas, commands, frames and the state, by name. */
export function schemaDocument(): Record<string, unknown> {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Parley',
    $defs: {
      SessionEvent: jsonSchema(SessionEvent, 'output'),
      Delta: jsonSchema(Delta, 'output'),
      Command: jsonSchema(Command, 'input'),
      ClientFrame: jsonSchema(ClientFrame, 'input'),
      ServerFrame: jsonSchema(ServerFrame, 'output'),
      SessionState: jsonSchema(SessionState, 'output'),
      ErrorBody: jsonSchema(ErrorBody, 'output'),
    },
  }
}

export function openapiDocument(version: string): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const [name, route] of Object.entries(routes as Record<string, Route>)) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(name, route) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Parley', version, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: "The server's token, or the access token of a device",
        },
      },
      schemas: { Error: jsonSchema(ErrorBody, 'output') },
    },
  }
}

function operation(name: string, route: Route) {
  const parameters = [...fieldsOf(route.params, 'path'), ...fieldsOf(route.query, 'query')]
  return {
    operationId: name,
    summary: route.summary,
    ...(route.scope === 'open'
      ? { security: [] }
      : {
          'x-parley-scope': route.scope,
          ...(route.scopesOfQuery && { 'x-parley-scopes-of-query': route.scopesOfQuery }),
          'x-parley-limits': route.limits,
        }),
    ...(parameters.length > 0 && { parameters }),
    ...(route.body && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: jsonSchema(route.body, 'input') } },
      },
    }),
    responses: {
      [route.status]: { description: 'Done', ...(route.status !== 204 && { content: contentOf(route) }) },
      default: {
        description: 'Refused',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    },
  }
}

function contentOf(route: Route) {
  const also = Object.fromEntries((route.also ?? []).map((type) => [type, { schema: { type: 'string' } }]))
  return { 'application/json': { schema: jsonSchema(route.reply, 'output') }, ...also }
}

function fieldsOf(schema: z.ZodObject | undefined, place: 'path' | 'query') {
  return Object.entries(schema?.shape ?? {}).map(([name, field]) => ({
    name,
    in: place,
    required: place === 'path' || !(field as z.ZodType).safeParse(undefined).success,
    schema: jsonSchema(field as z.ZodType, 'input'),
  }))
}
