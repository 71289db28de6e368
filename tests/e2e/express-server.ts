import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { builtInAdapters, createHost, createMemoryStore } from '@parley/server'
import { createEmbedded, type Embedded, type EmbedOptions } from '@parley/server/embed'
import express from 'express'

/**
 * An Express server with one Parley host, mounted in every way. It is a separate program, because Vitest
 * resolves the packages of Express differently from Node.
 */
const store = createMemoryStore()
const host = await createHost({ adapters: builtInAdapters({ env: process.env }), store })
let url = ''
const all: Embedded[] = []

function parley(base?: string, more: Partial<EmbedOptions> = {}): express.RequestHandler {
  const embedded = createEmbedded({
    host,
    token: 'a-token-for-the-test',
    url: () => url,
    ...(base && { base }),
    ...more,
  })
  all.push(embedded)
  return (request, response, next) => {
    if (!embedded.answer(request, response)) next()
  }
}

const app = express()
// Must be first: upgrades are offered in this order, and an embedded server without a base accepts all of them.
app.use('/parley', parley('/parley', { console: true, access: store }))
app.get('/sign-in', (_request, response) => response.redirect(all[0]?.link() ?? '/'))
app.use('/with-base', parley('/with-base'))
app.use('/without-base', parley())
app.use(parley('/not-mounted'))
app.use('/after-json', express.json(), parley('/after-json'))
app.use('/router', express.Router().use(parley('/inner')))
app.use((_request, response) => void response.send('not Parley'))

const server = createServer(app).listen(0, '127.0.0.1')
server.on('upgrade', (request, socket, head) => {
  if (!all.some((embedded) => embedded.upgrade(request, socket, head))) socket.destroy()
})
await once(server, 'listening')
url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
console.log(url)

process.once('SIGTERM', async () => {
  for (const embedded of all) embedded.close()
  server.close()
  server.closeAllConnections()
  await host.close()
})
