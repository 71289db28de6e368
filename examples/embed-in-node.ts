import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { builtInAdapters, createHost, createMemoryStore } from '@parley/server'
import { createEmbedded } from '@parley/server/embed'

/**
 * Serves Parley under /parley of an existing server: its API, server-sent events, WebSocket and chat. An Express app
 * needs the same two lines, see docs/library.md. node examples/embed-in-node.ts [port]
 */
const host = await createHost({
  adapters: builtInAdapters({ env: process.env }),
  store: createMemoryStore(),
})
const token = process.env.PARLEY_TOKEN ?? 'choose-a-token-of-your-own'
let url = ''
const parley = createEmbedded({ host, token, url: () => url, base: '/parley' })

const server = createServer((request, response) => {
  if (parley.answer(request, response)) return
  response.end('The page of the program itself.\n')
})
server.on('upgrade', (request, socket, head) => {
  if (!parley.upgrade(request, socket, head)) socket.destroy()
})
server.listen({ host: '127.0.0.1', port: Number(process.argv[2] ?? 3000) })
await once(server, 'listening')
url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
console.log(`ready ${url}`)

process.once('SIGTERM', async () => {
  parley.close()
  server.close()
  server.closeAllConnections()
  await host.close()
})
