import { describe, expect, it } from 'vitest'
import { type Route, routes } from './api.ts'
import { Command } from './command.ts'
import { deltaTypes } from './delta.ts'
import { ErrorCode } from './error.ts'
import { eventTypes } from './event.ts'
import { ClientFrame, ServerFrame } from './feed.ts'
import { openapiDocument, schemaDocument } from './openapi.ts'

type Parameter = { name: string; in: string; required: boolean; schema: Record<string, unknown> }
type Content = Record<string, { schema: Record<string, unknown> }>
type Operation = {
  operationId: string
  summary: string
  security?: unknown[]
  parameters?: Parameter[]
  requestBody?: { required: boolean; content: Content }
  responses: Record<string, { description: string; content?: Content }>
}
type Document = {
  openapi: string
  info: { title: string; version: string }
  security: Record<string, string[]>[]
  paths: Record<string, Record<string, Operation>>
  components: { securitySchemes: Record<string, unknown>; schemas: Record<string, unknown> }
}

const document = openapiDocument('1.2.3') as Document
const everyRoute = Object.entries(routes as Record<string, Route>)
const operationOf = (route: Route) =>
  document.paths[route.path.replace(/:(\w+)/g, '{$1}')]?.[route.method.toLowerCase()]

describe('the OpenAPI document', () => {
  it('has the required fields of an OpenAPI document', () => {
    expect(document.openapi).toMatch(/^3\.1\.\d$/)
    expect(document.info).toMatchObject({ title: 'Parley', version: '1.2.3' })
    const schemes = Object.keys(document.components.securitySchemes)
    expect(document.security.flatMap(Object.keys)).toEqual(schemes)
  })

  it('is JSON, and the same JSON each time', () => {
    expect(JSON.parse(JSON.stringify(document))).toEqual(document)
    expect(JSON.stringify(openapiDocument('1.2.3'))).toBe(JSON.stringify(document))
  })

  it('has exactly one operation for each route, with a unique id', () => {
    const ids = Object.values(document.paths).flatMap((path) =>
      Object.values(path).map((one) => one.operationId),
    )
    expect(ids.toSorted()).toEqual(Object.keys(routes).toSorted())
  })

  it.each(everyRoute)('has %s with its method, parameters, body and replies', (name, route) => {
    const operation = operationOf(route)!
    expect(operation).toMatchObject({ operationId: name, summary: route.summary })
    const inPath = (operation.parameters ?? []).filter((one) => one.in === 'path')
    expect(inPath.map((one) => one.name)).toEqual(
      [...route.path.matchAll(/:(\w+)/g)].map((match) => match[1]),
    )
    expect(inPath.every((one) => one.required)).toBe(true)
    const inQuery = (operation.parameters ?? []).filter((one) => one.in === 'query')
    expect(inQuery.map((one) => one.name)).toEqual(Object.keys(route.query?.shape ?? {}))
    expect(operation.requestBody !== undefined).toBe(route.body !== undefined)
    expect(operation.responses[route.status]?.description).toBeTruthy()
    expect(operation.responses.default?.content?.['application/json']?.schema).toEqual({
      $ref: '#/components/schemas/Error',
    })
  })

  it('gives each body a schema that is not empty', () => {
    const bodies = everyRoute.flatMap(([, route]) => operationOf(route)?.requestBody ?? [])
    expect(bodies.length).toBe(everyRoute.filter(([, route]) => route.body).length)
    for (const body of bodies) {
      const { schema } = body.content['application/json']!
      expect(schema.type === 'object' || Array.isArray(schema.oneOf) || Array.isArray(schema.anyOf)).toBe(
        true,
      )
    }
  })

  it('describes a body as a client writes it: fields with a default are optional', () => {
    const body = operationOf(routes.createSession)?.requestBody?.content['application/json']?.schema
    expect(body?.required).toEqual(['agent'])
  })

  it('declares empty replies as empty, and lists the other media types of a reply', () => {
    expect(operationOf(routes.deleteSession)?.responses['204']?.content).toBeUndefined()
    expect(Object.keys(operationOf(routes.events)?.responses['200']?.content ?? {})).toEqual([
      'application/json',
      'text/event-stream',
    ])
  })

  it('requires no token for the open routes', () => {
    const open = Object.values(document.paths).flatMap((path) =>
      Object.values(path).filter((operation) => operation.security?.length === 0),
    )
    const routesOpen = everyRoute.filter(([, route]) => route.scope === 'open').map(([name]) => name)
    expect(open.map((operation) => operation.operationId).toSorted()).toEqual(routesOpen.toSorted())
  })

  it('has no reference without a target', () => {
    expect(danglingRefs(document)).toEqual([])
  })

  it('marks the required query parameters', () => {
    const needed = everyRoute.flatMap(([name, route]) =>
      (operationOf(route)?.parameters ?? [])
        .filter((one) => one.in === 'query' && one.required)
        .map((one) => `${name} ${one.name}`),
    )
    expect(needed).toEqual([
      'removeAgentKey variable',
      'previewRewind promptId',
      'previewHandOff agent',
      'compareAttempts to',
      'getAttemptPatch to',
      'getAttemptPatch path',
      'search q',
      'findFilesIn cwd',
      'readFile path',
      'getPatch path',
      'offerWorktree cwd',
      'distrustFolder folder',
    ])
  })

  it('gives parameters only defaults of their own type', () => {
    const parameters = everyRoute.flatMap(([, route]) => operationOf(route)?.parameters ?? [])
    const odd = parameters.filter(
      ({ schema }) =>
        schema.default !== undefined && schema.type === 'string' && typeof schema.default !== 'string',
    )
    expect(odd.map(({ name, schema }) => `${name} = ${schema.default}`)).toEqual([])
  })
})

describe('the JSON Schema', () => {
  const schema = schemaDocument() as { $schema: string; $defs: Record<string, unknown> }

  it('is JSON of the dialect it names, and has no reference without a target', () => {
    expect(JSON.parse(JSON.stringify(schema))).toEqual(schema)
    expect(schema.$schema).toBe('https://json-schema.org/draft/2020-12/schema')
    expect(danglingRefs(schema)).toEqual([])
  })

  it.each([
    ['SessionEvent', [...eventTypes]],
    ['Delta', [...deltaTypes]],
    ['Command', Command.options.map((option) => option.shape.type.value)],
    ['ClientFrame', ClientFrame.options.map((option) => option.shape.type.value)],
    ['ServerFrame', ServerFrame.options.map((option) => option.shape.type.value)],
  ])('covers every type of %s', (name, types) => {
    const { oneOf } = schema.$defs[name] as { oneOf: { properties: { type: { const: string } } }[] }
    expect(oneOf.map((one) => one.properties.type.const)).toEqual(types)
  })

  it('covers the state and the error body', () => {
    expect(schema.$defs.SessionState).toMatchObject({ type: 'object' })
    expect(JSON.stringify(schema.$defs.ErrorBody)).toContain(JSON.stringify(ErrorCode.options))
  })
})

/** All `$ref` values that have no target, searched from the root of the document. */
function danglingRefs(root: unknown): string[] {
  const refs: string[] = []
  JSON.stringify(root, (key, value) => {
    if (key === '$ref') refs.push(value)
    return value
  })
  return refs.filter((ref) => {
    const steps = ref.replace(/^#\//, '').split('/')
    const target = steps.reduce<unknown>(
      (at, step) => (at as Record<string, unknown> | undefined)?.[step],
      root,
    )
    return !ref.startsWith('#/') || target === undefined
  })
}
