import { expect, test } from 'vitest'
import { prompt, startRealServer } from '../testing/real-server.ts'
import { startWirePeer } from '../testing/wire-peer.ts'
import { createClient } from './client.ts'

const question = prompt({
  type: 'question',
  questions: [
    { id: 'colour', header: 'Colour', text: 'Which?', options: [], multiple: false, freeText: true },
  ],
})
const permission = prompt({ type: 'permission', name: 'Write', kind: 'edit', input: {}, output: ['ok'] })

test('every command is sent over HTTP when nothing is followed', async () => {
  await using server = await startRealServer()
  const client = server.client()
  const { id } = await client.createSession({ agent: 'scripted', cwd: server.cwd, title: 'Made' })
  const { promptId } = await client.prompt(id, [{ type: 'text', text: permission }])
  expect(promptId).toBeDefined()
  expect(client.socket.status.state).toBe('idle')
  const mirror = client.mirror(id)
  const asked = await mirror.until(({ view }) => view.state.requests.length === 1)
  const later = await client.prompt(id, 'later')
  const last = await client.prompt(id, 'last')
  await client.move(id, last.promptId ?? '', { before: later.promptId ?? '' })
  const moved = await mirror.until(({ view }) => view.state.queue[0]?.promptId === last.promptId)
  expect(moved.view.state.queue.map(({ promptId: one }) => one)).toEqual([last.promptId, later.promptId])
  const before = ['prm_gone', last.promptId ?? '']
  const first = await client.prompt(id, 'first', { before })
  const placed = await mirror.until(({ view }) => view.state.queue.length === 3)
  expect(placed.view.state.queue[0]?.promptId).toBe(first.promptId)
  for (const one of [first, last, later]) await client.withdraw(id, one.promptId ?? '')
  const requestId = asked.view.state.requests[0]?.requestId ?? ''
  await client.decide(id, requestId, 'deny', { message: 'no', endTurn: true })
  await mirror.until(({ view }) => view.state.turns === 1)

  await client.prompt(id, question)
  const open = await mirror.until(({ view }) => view.state.requests[0]?.type === 'question')
  await client.answer(id, open.view.state.requests[0]?.requestId ?? '', { colour: 'blue' })
  await mirror.until(({ view }) => view.state.turns === 2)

  await client.configure(id, { mode: 'accept-edits' })
  await client.prompt(id, prompt({ type: 'hang' }))
  await mirror.until(({ view }) => view.state.turn !== undefined)
  await client.cancel(id)
  const cancelled = await mirror.until(({ view }) => view.state.turns === 3)
  expect(cancelled.view.state).toMatchObject({
    lastTurn: { outcome: 'cancelled' },
    requested: { mode: 'accept-edits' },
  })

  await client.compact(id)
  await mirror.until(({ view }) => view.state.turns === 4)
  const fork = await client.fork(id, { title: 'Copy' })
  expect(await client.call('getSession', { params: { id: fork.sessionId } })).toMatchObject({ title: 'Copy' })
  await client.closeSession(id)
  const { view } = await mirror.until((one) => !one.view.state.connected)
  expect(view).toEqual((await server.truth(id)).view)
})

test('if two clients answer, the first one wins and the other gets a typed refusal', async () => {
  await using server = await startRealServer()
  const id = await server.create()
  const clients = [server.client(), server.client()]
  const mirrors = clients.map((client) => client.mirror(id))
  await clients[0]?.prompt(id, permission)
  const asked = await Promise.all(
    mirrors.map((mirror) => mirror.until(({ view }) => view.state.requests.length === 1)),
  )
  const requestId = asked[0]?.view.state.requests[0]?.requestId ?? ''
  const answers = await Promise.allSettled(clients.map((client) => client.decide(id, requestId, 'allow')))
  expect(answers.map((answer) => answer.status).toSorted()).toEqual(['fulfilled', 'rejected'])
  expect(answers.find((answer) => answer.status === 'rejected')?.reason).toMatchObject({ code: 'conflict' })
})

test('an invalid command is refused before anything is sent', async () => {
  const client = createClient({ url: 'http://127.0.0.1:1' })
  await expect(client.prompt('s', '  ')).rejects.toMatchObject({ code: 'validation_error' })
})

test('a refusal is not retried; the abort signal ends the retries while the server is down', async () => {
  await using server = await startRealServer()
  const client = server.client()
  await expect(client.prompt('ses_none', 'hello')).rejects.toMatchObject({ code: 'not_found' })
  const id = await server.create()
  server.proxy.refuse()
  const controller = new AbortController()
  const sent = client.prompt(id, 'hello', { signal: controller.signal })
  controller.abort()
  await expect(sent).rejects.toMatchObject({ code: 'cancelled' })
  const other = client.prompt(id, 'hello')
  client.close()
  await expect(other).rejects.toMatchObject({ code: 'cancelled' })
})

test('a command without a receipt is sent again over HTTP, with the same id', async () => {
  const bodies: Promise<{ commandId: string }>[] = []
  await using peer = await startWirePeer({
    respond(request, response) {
      if (request.method !== 'POST') return void response.writeHead(200).end('{}')
      const body = new Response(request as never).json() as Promise<{ commandId: string }>
      bodies.push(body)
      void body.then(({ commandId }) => response.writeHead(202).end(JSON.stringify({ commandId, seq: 3 })))
    },
  })
  using client = createClient({ url: peer.url })
  client.socket.open()
  const other = await peer.accept()
  const open = Promise.withResolvers<void>()
  client.socket.onStatus(() => open.resolve())
  await open.promise
  const sent = client.prompt('s', 'hello')
  const { command } = await other.next('command')
  other.cut()
  expect(await sent).toEqual({ commandId: command.commandId, seq: 3 })
  expect(await bodies[0]).toEqual(command)
})

test('prompts keep their order, over the socket and over HTTP', async () => {
  await using server = await startRealServer()
  const id = await server.create()
  const client = server.client()
  const words = Array.from({ length: 20 }, (_, index) => `${index} ${index % 3 ? '' : 'x'.repeat(150_000)}`)
  const mirror = client.mirror(id)
  await mirror.until((snapshot) => snapshot.status === 'live')
  await Promise.all(words.map((text) => client.prompt(id, text)))
  const { events } = await server.truth(id)
  const sent = events.flatMap((event) => (event.type === 'prompt.submitted' ? event.parts : []))
  expect(sent.map((part) => part.type === 'text' && part.text.slice(0, 2).trim())).toEqual(
    words.map((text) => text.slice(0, 2).trim()),
  )
})
