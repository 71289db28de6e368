import { expect, it } from 'vitest'
import { type ModelServer, startModelServer } from './model-server.ts'

async function withServer(use: (server: ModelServer) => Promise<void>): Promise<void> {
  const server = await startModelServer()
  try {
    await use(server)
  } finally {
    await server.stop()
  }
}

function ask(server: ModelServer, content: string): Promise<Response> {
  return fetch(`${server.url}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'm',
      max_tokens: 9,
      stream: true,
      messages: [{ role: 'user', content }],
    }),
  })
}

it('a model server answers by script, step by step, and records every request', () =>
  withServer(async (server) => {
    server.script(() => true, [{ response: { content: 'first' } }, { response: { content: 'second' } }])
    expect(await (await ask(server, 'a')).text()).toContain('first')
    expect(await (await ask(server, 'b')).text()).toContain('second')
    expect((await ask(server, 'c')).status).toBe(404)
    expect(server.calls.map(({ body }) => body?.messages)).toEqual([
      [{ role: 'user', content: 'a' }],
      [{ role: 'user', content: 'b' }],
      [{ role: 'user', content: 'c' }],
    ])
  }))

it('a model server pauses an answer at the requested point, until it is released', () =>
  withServer(async (server) => {
    server.script(() => true, [{ response: { content: 'a whole sentence' } }])
    const hold = server.hold(2)
    const answer = await ask(server, 'a')
    await hold.reached
    expect(server.calls[0]?.complete).toBeUndefined()
    hold.release()
    expect(await answer.text()).toContain('message_stop')
  }))

it('a model server changes and drops events before they are sent', () =>
  withServer(async (server) => {
    server.script(() => true, [{ response: { content: 'words' } }])
    server.wire((event) => (event.type === 'content_block_delta' ? '' : { ...event, marked: true }))
    const body = await (await ask(server, 'a')).text()
    expect(body).not.toContain('words')
    expect(body).toContain('"marked":true')
  }))

it('a model server counts tokens without a script', () =>
  withServer(async (server) => {
    const answer = await fetch(`${server.url}/v1/messages/count_tokens`, { method: 'POST', body: '{}' })
    expect(await answer.json()).toMatchObject({ input_tokens: 10 })
  }))

it('a model server stops although an answer is still open', async () => {
  const server = await startModelServer()
  server.script(() => true, [{ response: { content: 'a whole sentence' } }])
  const hold = server.hold(1)
  const answer = await ask(server, 'a')
  await hold.reached
  await server.stop()
  await expect(answer.text()).rejects.toThrow()
})
