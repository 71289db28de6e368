import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type HttpBindings, serve } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { builtInAdapters, createHost, createMemoryStore } from '@parley/server'
import { createEmbedded } from '@parley/server/embed'
import { Hono } from 'hono'

/** Embeds Parley in a Hono app on Node, behind the app's own sign-in. node examples/embed-in-hono.ts [port] */
const host = await createHost({
  adapters: builtInAdapters({ env: process.env }),
  store: createMemoryStore(),
})
const token = crypto.randomUUID()
let url = ''
const parley = createEmbedded({ host, token, url: () => url, base: '/agents' })

const app = new Hono<{ Bindings: HttpBindings }>()
app.get('/', (context) => context.text('The page of the program itself.\n'))
app.all('/agents/*', (context) => {
  if (context.req.header('x-user') !== 'ada') return context.text('Sign in first.\n', 401)
  const { incoming, outgoing } = context.env
  incoming.headers.authorization = `Bearer ${token}`
  parley.answer(incoming, outgoing)
  return RESPONSE_ALREADY_SENT
})

const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(process.argv[2] ?? 3000) })
await once(server, 'listening')
url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
console.log(`ready ${url}`)

process.once('SIGTERM', async () => {
  parley.close()
  server.close()
  ;(server as Server).closeAllConnections()
  await host.close()
})
