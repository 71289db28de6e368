import { expect, it } from 'vitest'
import { createJsonRpc, JsonRpcError, type JsonRpcOptions, type JsonRpcPeer } from './json-rpc.ts'

function peer(options: Partial<JsonRpcOptions> = {}) {
  const sent: object[] = []
  const received: unknown[] = []
  const rpc = createJsonRpc({
    send: (message) => void sent.push(message),
    request: (request) => void received.push({ request }),
    notification: (notification) => void received.push({ notification }),
    stray: (message) => void received.push({ stray: message }),
    ...options,
  })
  return { rpc, sent, received }
}

/** Two connected peers. The second answers every call with its parameters. */
function pair(): { near: JsonRpcPeer; far: JsonRpcPeer } {
  const ends: JsonRpcPeer[] = []
  const end = (other: number, more: Partial<JsonRpcOptions> = {}) =>
    peer({ send: (message) => ends[other]?.take(JSON.parse(JSON.stringify(message))), ...more }).rpc
  ends.push(end(1), end(0, { request: ({ id, method, params }) => ends[1]?.respond(id, { method, params }) }))
  return { near: ends[0]!, far: ends[1]! }
}

it('matches each response to its call, in any order', async () => {
  const { rpc, sent } = peer()
  const first = rpc.call('one', { a: 1 })
  const second = rpc.call('two')
  expect(sent).toEqual([
    { id: 1, method: 'one', params: { a: 1 } },
    { id: 2, method: 'two' },
  ])
  rpc.take({ id: 2, result: 'second' })
  rpc.take({ id: 1, result: null })
  expect(await Promise.all([first, second])).toEqual([null, 'second'])
})

it('passes a call from one peer to the other', async () => {
  const { near } = pair()
  expect(await near.call('say', { words: 'hello' })).toEqual({ method: 'say', params: { words: 'hello' } })
})

it('rejects a call with the error of the other peer', async () => {
  const { rpc } = peer()
  const refused = rpc.call('one')
  rpc.take({ id: 1, error: { code: -32600, message: 'no such thing', data: { what: 'thing' } } })
  const error = await refused.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(JsonRpcError)
  expect(error).toMatchObject({ code: -32600, message: 'no such thing', data: { what: 'thing' } })
})

it('distinguishes requests, notifications and stray messages, in the order of arrival', () => {
  const { rpc, received, sent } = peer()
  rpc.take({ method: 'started', params: { a: 1 } })
  rpc.take({ id: 0, method: 'ask', params: {} })
  rpc.take({ id: 99, result: 'nobody asked' })
  rpc.take('not even an object')
  rpc.take(null)
  expect(received).toEqual([
    { notification: { method: 'started', params: { a: 1 } } },
    { request: { id: 0, method: 'ask', params: {} } },
    { stray: { id: 99, result: 'nobody asked' } },
    { stray: 'not even an object' },
    { stray: null },
  ])
  rpc.respond(0, { yes: true })
  rpc.refuse(1, { code: -32601, message: 'no' })
  expect(sent).toEqual([
    { id: 0, result: { yes: true } },
    { id: 1, error: { code: -32601, message: 'no' } },
  ])
})

it('rejects pending and later calls once it has ended', async () => {
  const { rpc } = peer()
  const waiting = rpc.call('one')
  rpc.end(new Error('it is gone'))
  await expect(waiting).rejects.toThrow('it is gone')
  await expect(rpc.call('two')).rejects.toThrow('it is gone')
})

it('sends the JSON-RPC version if it is configured to', () => {
  const { rpc, sent } = peer({ withVersion: true })
  rpc.notify('initialized')
  expect(sent).toEqual([{ jsonrpc: '2.0', method: 'initialized' }])
})
