import { type Route, validationError } from '@parley/protocol'
import type { App, RequestContext } from './app.ts'
import { readJson } from './json-body.ts'

type Schema = NonNullable<Route['body']>
type Output<S> = S extends { parse(value: unknown): infer Value } ? Value : undefined
type Field<R, Name extends string> = R extends { readonly [N in Name]: infer S } ? Output<S> : undefined
type Reply<R extends Route> = Output<R['reply']>

/** The input of a route, checked by its schemas. */
export type Call<R extends Route> = {
  readonly params: Field<R, 'params'>
  readonly query: Field<R, 'query'>
  readonly body: Field<R, 'body'>
  readonly context: RequestContext
}

/** Mounts a route of the protocol. A handler returns the reply, or a Response if the reply is not plain JSON. */
export function mount<R extends Route>(
  app: App,
  { bodyLimit }: { bodyLimit: number },
  route: R,
  handle: (call: Call<R>) => Promise<Reply<R> | Response> | Reply<R> | Response,
): void {
  app.on(route.method, [route.path], async (context) => {
    const params = checked(route.params, 'The path', context.req.param())
    const query = checked(route.query, 'The query', context.req.query())
    const body = route.body
      ? checked(route.body, 'The body', await readJson(context.env.incoming, bodyLimit))
      : undefined
    const reply = await handle({ params, query, body, context } as Call<R>)
    if (reply instanceof Response) return reply
    return reply === null
      ? new Response(null, { status: route.status })
      : json(JSON.stringify(reply), route.status)
  })
}

/** A reply that is JSON text already. */
export function json(text: string, status = 200): Response {
  return new Response(text, { status, headers: { 'Content-Type': 'application/json; charset=UTF-8' } })
}

function checked(schema: Schema | undefined, what: string, value: unknown): unknown {
  if (!schema) return undefined
  const result = schema.safeParse(value)
  if (!result.success) throw validationError(what, result.error)
  return result.data
}
