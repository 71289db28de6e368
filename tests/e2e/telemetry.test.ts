import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Client, createClient } from '@parley/client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createHome, type Home, type Running } from '../../packages/server/src/cli/program-under-test.ts'
import { readPrometheus, sampleValue } from '../../packages/server/src/telemetry/prometheus-under-test.ts'
import { isIdle, open, stateWhen } from './session-fixture.ts'
import type { SpanLine } from './telemetry-sdk.ts'

/** Tests the real program with the demo agent, started with telemetry as a user would start it. */
const sdk = new URL('./telemetry-sdk.ts', import.meta.url).pathname
const token = 'telemetry-test-token'

let home: Home
let running: Running
let url: string
let client: Client
beforeEach(async () => {
  home = createHome()
  await start()
})
afterEach(async () => {
  client.close()
  await home[Symbol.asyncDispose]()
})

/** A module that makes the OpenTelemetry API look as if it were not installed. */
const withoutApi = `
import { registerHooks } from 'node:module'
globalThis[Symbol.for('opentelemetry.js.api.1')] = { version: '1.10.0', trace: {}, metrics: {} }
registerHooks({
  resolve(name, context, next) {
    if (name !== '@opentelemetry/api') return next(name, context)
    throw Object.assign(new Error('Cannot find package ' + name), { code: 'ERR_MODULE_NOT_FOUND' })
  },
})`

async function start(options = `--import ${sdk}`): Promise<void> {
  const env = { NODE_OPTIONS: options, TEST_SPANS: join(home.folder, 'spans.jsonl') }
  ;({ running, url } = await home.serve(['--token', token], { env }))
  client = createClient({ url, token, backoff: { baseMs: 5, maxMs: 50 } })
}

async function stop(signal: NodeJS.Signals): Promise<void> {
  client.close()
  running.child.kill(signal)
  await running.ended
}

async function begin(prompt: string): Promise<string> {
  const { id } = await client.createSession({ agent: 'demo', cwd: home.folder, prompt })
  return id
}

const idle = (session: string) => stateWhen(client, session, isIdle)
const asked = async (session: string) =>
  open(await stateWhen(client, session, ({ requests }) => requests.length > 0), 'permission')

function spans(): SpanLine[] {
  const file = join(home.folder, 'spans.jsonl')
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line) as SpanLine)
}

const turnsOf = (session: string) =>
  spans().filter(({ name, attributes }) => {
    return name === 'invoke_agent Demo' && attributes['gen_ai.conversation.id'] === session
  })

async function metrics() {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  const text = await response.text()
  const families = readPrometheus(text)
  return { text, of: (name: string, labels?: Record<string, string>) => sampleValue(families, name, labels) }
}

describe('a server with telemetry', () => {
  it('reports turns that were approved, denied, cancelled and failed', async () => {
    const approved = await begin('permission')
    await client.decide(approved, (await asked(approved)).requestId, 'allow')
    await idle(approved)
    const denied = await begin('permission')
    await client.decide(denied, (await asked(denied)).requestId, 'deny')
    await idle(denied)
    const cancelled = await begin('hang')
    await stateWhen(client, cancelled, ({ turn }) => turn?.delivered === true)
    await client.cancel(cancelled)
    await idle(cancelled)
    const failed = await begin('fail')
    await idle(failed)
    const measured = await begin('usage')
    await idle(measured)
    const waiting = await begin('permission')
    await asked(waiting)

    const { of, text } = await metrics()
    const agent = 'demo'
    const turns = (outcome: string) => of('parley_turns_total', { agent, outcome })
    expect([turns('completed'), turns('cancelled'), turns('failed'), turns('unknown')]).toEqual([3, 1, 1, 0])
    const calls = (kind: string, outcome: string) => of('parley_tool_calls_total', { agent, kind, outcome })
    expect([calls('execute', 'completed'), calls('execute', 'denied'), calls('fetch', 'failed')]).toEqual([
      1, 1, 1,
    ])
    const decided = (outcome: string) =>
      of('parley_permission_requests_total', { agent, kind: 'execute', outcome, by: 'person' })
    expect([decided('allowed'), decided('denied')]).toEqual([1, 1])
    expect(of('parley_permission_wait_seconds_count', { agent, by: 'person' })).toBe(2)
    const tokens = (type: string) => of('parley_tokens_total', { agent, type })
    expect([tokens('input'), tokens('output'), tokens('cache_read')]).toEqual([91_000, 3_400, 77_000])
    expect(of('parley_cost_usd_total', { agent })).toBeCloseTo(0.1234)
    expect(of('parley_requests_waiting', { type: 'permission' })).toBe(1)
    expect(of('parley_sessions_live')).toBe(6)
    expect(of('parley_agents_connected', { agent })).toBeGreaterThanOrEqual(1)
    expect(of('parley_events_total', { type: 'turn.started' })).toBe(6)
    expect(of('parley_commands_total', { type: 'permission.decide', outcome: 'accepted' })).toBe(2)
    expect(of('process_resident_memory_bytes')).toBeGreaterThan(1e7)
    for (const private_ of ['ses_', 'trn_', home.folder, 'rm -rf', 'example.invalid', token]) {
      expect(text).not.toContain(private_)
    }

    const ends = [approved, denied, cancelled, failed, measured].map((session) => {
      const [turn, ...others] = turnsOf(session)
      expect(others).toEqual([])
      return turn?.attributes['parley.turn.outcome']
    })
    expect(ends).toEqual(['completed', 'completed', 'cancelled', 'failed', 'completed'])
    const [turn] = turnsOf(approved)
    const call = spans().find(({ parent }) => parent === turn?.id)
    const wait = spans().find(({ parent }) => parent === call?.id)
    expect([call?.name, wait?.name]).toEqual(['execute_tool Bash', 'wait_permission Bash'])
    expect(JSON.stringify(spans())).not.toContain('rm -rf')

    await stop('SIGTERM')
    const session = spans().find(({ id }) => id === turn?.parent)
    expect(session).toMatchObject({ name: 'session Demo', trace: turn?.trace })
    expect((await running.ended).exitCode).toBe(0)
  })

  it('that is killed in the middle of turns and restarted reports each end once, and keeps nothing', async () => {
    const worked = await begin('hang')
    await stateWhen(client, worked, ({ turn }) => turn?.delivered === true)
    const waited = await begin('permission')
    await asked(waited)
    await stop('SIGKILL')
    expect([turnsOf(worked), turnsOf(waited)]).toEqual([[], []])
    const killed = running.child.pid

    await start()
    await idle(worked)
    await stateWhen(client, waited, ({ status }) => status === 'parked')
    const { of } = await metrics()
    expect(of('parley_turns_total', { agent: 'demo', outcome: 'unknown' })).toBe(1)
    expect(of('parley_requests_waiting', { type: 'permission' })).toBe(1)
    await client.decide(waited, (await asked(waited)).requestId, 'allow')
    await idle(waited)
    expect((await metrics()).of('parley_turns_total', { agent: 'demo', outcome: 'completed' })).toBe(1)

    const [lost, ...lostAgain] = turnsOf(worked)
    const [done, ...doneAgain] = turnsOf(waited)
    expect([lostAgain, doneAgain]).toEqual([[], []])
    expect(lost?.attributes).toMatchObject({
      'parley.turn.outcome': 'unknown',
      'parley.turn.restarted': true,
      'error.type': 'outcome_unknown',
    })
    expect(done?.attributes).toMatchObject({
      'parley.turn.outcome': 'completed',
      'parley.turn.restarted': true,
    })
    expect(done?.events).toEqual(expect.arrayContaining(['parley.turn.resumed']))
    expect(done?.process).not.toBe(killed)
    await stop('SIGTERM')
    const after = spans().filter(({ process }) => process === done?.process)
    const ids = new Set(after.map(({ id }) => id))
    expect(after.filter(({ parent }) => parent !== undefined && !ids.has(parent))).toEqual([])
  })

  it('works without the OpenTelemetry API if there is an SDK but no API', async () => {
    await stop('SIGTERM')
    await start(`--import data:text/javascript,${encodeURIComponent(withoutApi)}`)
    await idle(await begin('think'))
    expect((await metrics()).of('parley_turns_total', { agent: 'demo', outcome: 'completed' })).toBe(1)
    await stop('SIGTERM')
    const { exitCode, stderr } = await running.ended
    expect(exitCode).toBe(0)
    expect(stderr).not.toContain('"level":50')
    expect(stderr).not.toContain('opentelemetry')
  })

  it('shows its metrics only with the token', async () => {
    expect((await fetch(`${url}/metrics`)).status).toBe(401)
    expect((await fetch(`${url}/metrics`, { headers: { authorization: 'Bearer wrong' } })).status).toBe(401)
    const response = await fetch(`${url}/metrics`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
    })
    expect(response.status).toBe(405)
    const before = await metrics()
    expect(before.of('parley_clients_connected', { face: 'sse' })).toBe(0)
    const session = await begin('hang')
    const leaving = new AbortController()
    await fetch(`${url}/api/sessions/${session}/events`, {
      headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
      signal: leaving.signal,
    })
    const mirror = client.mirror(session)
    await mirror.until(({ status }) => status === 'live', AbortSignal.timeout(20_000))
    const during = await metrics()
    expect(during.of('parley_clients_connected', { face: 'sse' })).toBe(1)
    expect(during.of('parley_clients_connected', { face: 'websocket' })).toBe(1)
    mirror.close()
    leaving.abort()
  })
})
