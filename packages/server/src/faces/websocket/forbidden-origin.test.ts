import { once } from 'node:events'
import { forbiddenOriginCode, newId, webSocketProtocols } from '@parley/protocol'
import { afterAll, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { testToken, websocketUnderTest } from './websocket-under-test.ts'

const server = await websocketUnderTest()
afterAll(() => server[Symbol.asyncDispose]())

it('a WebSocket of a page with a valid token and a foreign Origin is closed with a code, and its frames are ignored', async () => {
  const session = await server.create()
  const address = `ws://127.0.0.1:${server.port}/api/ws`
  const origin = 'https://page.example'
  const page = new WebSocket(address, webSocketProtocols(testToken), { origin })
  const frames: unknown[] = []
  page.on('message', (data) => frames.push(data))
  page.on('open', () => {
    page.send(JSON.stringify({ type: 'hello' }))
    const command = { type: 'prompt.submit', commandId: newId('cmd'), text: 'x', delivery: 'queue' }
    page.send(JSON.stringify({ type: 'command', session, command }))
  })
  const [code] = await once(page, 'close')
  expect([code, frames, server.peers]).toEqual([forbiddenOriginCode, [], 0])
  expect((await server.host.state(session)).turns).toBe(0)
  expect(await server.log(session)).not.toContainEqual(expect.objectContaining({ type: 'prompt.submitted' }))
})

it.each([
  ['no token', undefined],
  ['a wrong token', 'not-the-token-of-this-server'],
])(
  'a WebSocket of a page with %s and a foreign Origin is refused with 403 like any other request',
  async (_, token) => {
    const protocols = webSocketProtocols(token).join(', ')
    const headers = { origin: 'https://page.example', 'sec-websocket-protocol': protocols }
    expect((await server.refusal(headers)).status).toBe(403)
  },
)
