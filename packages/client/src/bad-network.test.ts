import type { ParleyError, PromptPart, SessionEvent } from '@parley/protocol'
import type { Host } from '@parley/server'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { CuttableProxy } from '../testing/cuttable-proxy.ts'
import { prompt, startRealServer } from '../testing/real-server.ts'
import type { Client } from './client.ts'

const script = prompt(
  { type: 'thinking', text: 'let me see what there is to do here' },
  { type: 'text', text: 'first I look at it, word by word, then I go on' },
  { type: 'tool', name: 'Read', input: { path: 'a.txt' }, inputPieces: 4, output: ['one ', 'two ', 'three'] },
  { type: 'retraction', text: 'no, that was wrong' },
  { type: 'tool', name: 'Late', output: ['x'], order: 'result-first' },
  { type: 'permission', name: 'Write', kind: 'edit', input: { path: 'b.txt' }, output: ['written'] },
  { type: 'text', text: 'and that is all there is to say about it' },
)

/**
 * Calls `call` with the size of every batch that the host sends to its readers, so that a test can time its
 * disturbances.
 */
async function onEveryBatch(host: Host, sessionId: string, call: (items: number) => void): Promise<void> {
  await host.follow(
    sessionId,
    {},
    { following() {}, caughtUp() {}, ended() {}, deliver: (batch) => call(batch.length) },
  )
}

/** Allows every request of the session. */
function allowAll(client: Client, sessionId: string): void {
  const mirror = client.mirror(sessionId)
  const asked = new Set<string>()
  mirror.subscribe(() => {
    for (const { requestId } of mirror.getSnapshot().view.state.requests) {
      if (asked.has(requestId)) continue
      asked.add(requestId)
      client.decide(sessionId, requestId, 'allow').catch((error: ParleyError) => {
        if (error.code !== 'cancelled') throw error
      })
    }
  })
}

const promptsIn = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.type === 'prompt.submitted' ? event.parts : []))
const textPart = (text: string): PromptPart => ({ type: 'text', text })

function disturb(proxy: CuttableProxy, how: number): void {
  if (how < 5) proxy.cut()
  else if (how === 5) proxy.pause()
  else if (how === 6) proxy.resume()
  else if (how === 7) proxy.refuse()
  else proxy.accept()
}

test('every mirror equals the log at the end, and each prompt runs once, when connections are cut at random during turns', async () => {
  const disturbances = fc.array(fc.tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 0, max: 9 })), {
    minLength: 5,
    maxLength: 40,
  })
  let losses = 0
  await fc.assert(
    fc.asyncProperty(disturbances, async (plan) => {
      await using server = await startRealServer({ agent: { pieceDelayMs: 1 } })
      const id = await server.create()
      const [sender, watcher] = [server.client(), server.client()]
      watcher.socket.onStatus(({ state }) => {
        if (state === 'waiting') losses++
      })
      const mirrors = [sender.mirror(id), sender.mirror(id, { tail: 'all' }), watcher.mirror(id, { tail: 2 })]
      allowAll(sender, id)
      let wait = 0
      await onEveryBatch(server.host, id, () => {
        const next = plan[0]
        if (!next || ++wait < next[0]) return
        plan.shift()
        wait = 0
        disturb(server.proxy, next[1])
        // Ends the last disturbance: if the network remained down, the test would prove nothing.
        if (plan.length === 0 || next[1] === 5 || next[1] === 7) setImmediate(() => server.proxy.resume())
        if (plan.length === 0 || next[1] === 7) setImmediate(() => server.proxy.accept())
      })
      const texts = [script, 'echo one', 'echo two']
      await Promise.all(texts.map((text) => sender.prompt(id, text)))
      const done = await Promise.all(
        mirrors.map((mirror) =>
          mirror.until(({ status, view }) => status === 'live' && view.state.turns === 3 && !view.state.turn),
        ),
      )
      const truth = await server.truth(id)
      const seqs = done.map(({ view }) => view.state.seq)
      expect(promptsIn(truth.events)).toEqual(texts.map(textPart))
      expect(seqs).toEqual(seqs.map(() => truth.events.length))
      for (const { view } of done) expect(view.state).toEqual(truth.view.state)
      while (!mirrors[2]?.getSnapshot().atStart) {
        await mirrors[2]?.loadOlder()
        await Promise.resolve()
      }
      for (const mirror of mirrors) expect(mirror.getSnapshot().view.timeline).toEqual(truth.view.timeline)
    }),
    { numRuns: 25 },
  )
  expect(losses).toBeGreaterThan(25)
}, 120_000)

test('a command whose receipt is lost is sent again and takes effect once', async () => {
  await using server = await startRealServer()
  const id = await server.create()
  const client = server.client()
  const mirror = client.mirror(id)
  const receipts: string[] = []
  client.socket.onFrame(({ type }) => type === 'receipt' && receipts.push(type))
  await mirror.until((snapshot) => snapshot.status === 'live')
  let cuts = 0
  await onEveryBatch(server.host, id, () => {
    if (cuts++ < 1) return
    if (cuts < 5) server.proxy.cut()
  })
  const receipt = await client.prompt(id, 'once')
  await mirror.until(({ status, view }) => status === 'live' && view.state.turns === 1)
  const { events } = await server.truth(id)
  expect(receipts).toEqual([])
  expect(promptsIn(events)).toEqual([textPart('once')])
  expect(receipt.promptId).toBe(events.find((event) => event.type === 'prompt.submitted')?.promptId)
})

test('a reader that is too slow is disconnected, and reconnects without a gap', async () => {
  const outbox = { replayBytes: 16_384, warnBytes: 32_768, evictBytes: 65_536 }
  await using server = await startRealServer({ outbox })
  const id = await server.create()
  const client = server.client()
  const mirror = client.mirror(id)
  const frames: string[] = []
  client.socket.onFrame((frame) => frames.push(frame.type))
  await mirror.until((snapshot) => snapshot.status === 'live')
  server.proxy.pause()
  const flood = prompt({ type: 'flood', deltas: 20_000, size: 1000, blocks: 4 })
  await server.host.command(id, { type: 'prompt.submit', commandId: 'cmd_flood', text: flood })
  await new Promise<void>((resolve) => {
    const forget = server.host.onSessionChanged(({ summary }) => {
      if (summary?.status !== 'idle') return
      forget()
      resolve()
    })
  })
  server.proxy.resume()
  const { view } = await mirror.until((one) => one.status === 'live' && one.view.state.turns === 1)
  expect(frames).toContain('evicted')
  expect(view).toEqual((await server.truth(id)).view)
})

test('an open permission stays open when the server restarts, and can be answered', async () => {
  await using server = await startRealServer()
  const id = await server.create()
  const client = server.client()
  const mirror = client.mirror(id)
  await client.prompt(id, script)
  await mirror.until(({ view }) => view.state.requests.length === 1)
  await server.restart()
  const parked = await mirror.until(({ status, view }) => status === 'live' && view.state.status === 'parked')
  const [request] = parked.view.state.requests
  expect(request).toMatchObject({ type: 'permission', tool: 'Write' })
  await client.decide(id, request?.requestId ?? '', 'allow')
  const { view } = await mirror.until(({ status, view }) => status === 'live' && view.state.turns === 1)
  expect(view).toEqual((await server.truth(id)).view)
})
