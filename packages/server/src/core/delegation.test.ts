import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isKnown, ParleyError, type SessionEvent } from '@parley/protocol'
import { expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { createScriptedAdapter } from '../adapters/scripted/index.ts'
import type { Script } from '../adapters/scripted/script.ts'
import { createHost } from '../index.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { defineTool } from '../tools/define-tool.ts'
import type { Host } from './host.ts'

/** A tool by which one agent delegates a task to another, as docs/host-tools.md shows it. */
function delegateTool(host: () => Host) {
  return defineTool({
    name: 'delegate',
    description: 'Gives a task to another agent and waits for its answer.',
    input: z.object({ task: z.string() }),
    annotations: { title: 'Delegate', safe: true },
    async run({ task }, { cwd, signal }) {
      const { id } = await host().create({ agent: 'helper', cwd, prompt: task })
      const cancel = { type: 'turn.cancel', commandId: `stop-${id}` } as const
      signal.addEventListener(
        'abort',
        () =>
          void host()
            .command(id, cancel)
            .catch(() => undefined),
      )
      let answer = ''
      for await (const event of host().events(id)) {
        if (!isKnown(event)) continue
        if (event.type === 'text.written') answer = event.text
        if (event.type === 'turn.ended' && event.outcome === 'completed') break
        if (event.type === 'turn.ended') throw new Error(`the helper ended: ${event.outcome}`)
      }
      return answer
    },
  })
}

const task = (...script: Script): Script => [
  { type: 'host-tool', name: 'delegate', input: { task: JSON.stringify(script) } },
  { type: 'text', text: 'Done.' },
]

async function world(maxConnections = 10) {
  const cwd = mkdtempSync(join(tmpdir(), 'parley-delegation-'))
  const adapters = ['lead', 'helper'].map((id) => createScriptedAdapter({ id, name: id }))
  const host: Host = await createHost({
    adapters,
    store: createMemoryStore(),
    tools: [delegateTool(() => host)],
    limits: { maxConnections, cancelGraceMs: 50 },
  })
  onTestFinished(async () => {
    await host.close()
    rmSync(cwd, { recursive: true, force: true })
  })
  const begin = async (script: Script) =>
    (await host.create({ agent: 'lead', cwd, prompt: JSON.stringify(script) })).id
  const end = async (id: string) => {
    const events: SessionEvent[] = []
    for await (const event of host.events(id)) {
      events.push(event as SessionEvent)
      if (event.type === 'turn.ended') return { event, events }
    }
    throw new Error('the session is gone')
  }
  const first = async <One>(look: () => Promise<readonly One[]>): Promise<One> => {
    for (;;) {
      const [one] = await look()
      if (one !== undefined) return one
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const helper = () => first(async () => (await host.list({ agent: 'helper', limit: 1 })).sessions)
  return { host, begin, end, helper, waiting: () => first(host.waiting) }
}

it('a delegated task runs in a session of its own, and its answer is returned to the agent that delegated it', async () => {
  const { host, begin, end, helper } = await world()
  const { event, events } = await end(await begin(task({ type: 'text', text: 'Forty-two.' })))
  expect(event).toMatchObject({ outcome: 'completed' })
  expect(events.find(({ type }) => type === 'tool-call.ended')).toMatchObject({
    outcome: 'completed',
    content: [{ type: 'text', text: 'Forty-two.' }],
  })
  expect((await host.state((await helper()).id)).lastTurn).toMatchObject({ outcome: 'completed' })
})

it('a delegated task waits for a person to answer its request', async () => {
  const { host, begin, end, waiting } = await world()
  const write = { type: 'permission', name: 'Write', kind: 'edit', title: 'a.txt', input: {} } as const
  const id = await begin(task(write, { type: 'text', text: 'Written.' }))
  const { session, request } = await waiting()
  expect(session.agent).toBe('helper')
  expect((await host.state(id)).status).toBe('working')
  const { requestId } = request
  const allow = { type: 'permission.decide', commandId: 'yes', requestId, decision: 'allow' } as const
  await host.command(session.id, allow)
  expect((await end(id)).event).toMatchObject({ outcome: 'completed' })
})

it('the failure of a delegated task is reported to the model, and the turn continues', async () => {
  const { begin, end } = await world()
  const error = new ParleyError('agent_failed', 'no model').toInfo()
  const failing = task({ type: 'end', outcome: 'failed', stopReason: 'x', error })
  const { event, events } = await end(await begin(failing))
  expect(event).toMatchObject({ outcome: 'completed' })
  const failed = events.find(({ type }) => type === 'tool-call.ended')
  expect(failed).toMatchObject({ outcome: 'failed' })
  expect(JSON.stringify(failed)).toContain('the helper ended: failed')
})

it.each([
  ['runs', 10],
  ['waits for a connection that the first agent holds', 1],
])('stops the other agent when the turn is cancelled, even while it %s', async (_, maxConnections) => {
  const { host, begin, end, helper } = await world(maxConnections)
  const id = await begin(task({ type: 'hang' }))
  const { id: other } = await helper()
  await host.command(id, { type: 'turn.cancel', commandId: 'stop' })
  expect((await end(id)).event).toMatchObject({ outcome: 'cancelled' })
  expect((await end(other)).event).toMatchObject({ outcome: 'cancelled' })
  expect((await host.state(other)).status).toBe('idle')
})
