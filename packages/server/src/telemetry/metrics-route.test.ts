import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { hostFor } from '../access/guarded-host.ts'
import type { Principal } from '../access/principal.ts'
import { colour, hostUnderTest, permission } from '../core/host-under-test.ts'
import { createEmbedded } from '../embed.ts'
import { serverUnderTest, testToken } from '../faces/http/server-under-test.ts'
import { createTelemetry } from '../index.ts'
import { readPrometheus, sampleValue } from './prometheus-under-test.ts'

describe('/metrics', () => {
  it('reports permissions by their decider, questions, and open requests', async () => {
    const telemetry = createTelemetry()
    await using test = await hostUnderTest({ telemetry })
    const server = await serverUnderTest(test.host, { metrics: telemetry.metrics })
    const read = async () => {
      const { status, text } = await server.ask('/metrics')
      expect(status).toBe(200)
      const families = readPrometheus(text)
      return (name: string, labels?: Record<string, string>) => sampleValue(families, name, labels)
    }
    const agent = 'scripted'
    const session = await test.create()
    await session.submit(permission('a'), permission('a'), colour)
    await session.when(({ requests }) => requests.length > 0)
    test.time.advance(20_000)
    await session.decide('allow', { scope: 'session' })
    await session.when(({ requests }) => requests[0]?.type === 'question')
    const during = await read()
    expect(during('parley_requests_waiting', { type: 'question' })).toBe(1)
    expect(during('parley_requests_waiting', { type: 'permission' })).toBe(0)
    expect(during('parley_agents_connected', { agent })).toBe(1)
    await session.command({ type: 'turn.cancel' })
    await session.idle()

    const later = await read()
    const decided = (by: string) =>
      later('parley_permission_requests_total', { agent, kind: 'edit', outcome: 'allowed', by })
    expect([decided('person'), decided('rule')]).toEqual([1, 1])
    const waited = (le: string) => later('parley_permission_wait_seconds_bucket', { agent, by: 'person', le })
    expect([waited('15'), waited('60')]).toEqual([0, 1])
    expect(later('parley_permission_wait_seconds_sum', { agent, by: 'person' })).toBeGreaterThanOrEqual(20)
    expect(later('parley_permission_wait_seconds_sum', { agent, by: 'rule' })).toBe(0)
    expect(later('parley_questions_total', { agent, outcome: 'cancelled', by: 'turn-end' })).toBe(1)
    expect(later('parley_turns_total', { agent, outcome: 'cancelled' })).toBe(1)
    const log = await session.log()
    for (const type of new Set(log.map((event) => event.type))) {
      const count = log.filter((event) => event.type === type).length
      expect([type, later('parley_events_total', { type })]).toEqual([type, count])
    }
    await test.host.delete(session.id)
    const deleted = await read()
    expect(deleted('parley_sessions_live')).toBe(0)
    expect(deleted('parley_agents_connected', { agent })).toBe(0)
    await server.close()
  })

  it('counts refused commands by reason, and names no invalid command type', async () => {
    const telemetry = createTelemetry()
    await using test = await hostUnderTest({ telemetry })
    const server = await serverUnderTest(test.host, { metrics: telemetry.metrics })
    const session = await test.create()
    const none = { type: 'permission.decide', requestId: 'none', decision: 'allow' } as const
    await expect(session.command(none)).rejects.toThrow()
    await expect(session.command({ type: 'made up\n"' } as never)).rejects.toThrow()
    await expect(test.host.command(session.id, null as never)).rejects.toThrow()
    const families = readPrometheus((await server.ask('/metrics')).text)
    const count = (type: string, outcome: string) =>
      sampleValue(families, 'parley_commands_total', { type, outcome })
    expect(count('permission.decide', 'not_found')).toBe(1)
    expect(count('unreadable', 'validation_error')).toBe(2)
    await server.close()
  })

  it('counts, for each agent, the messages that were not understood; the list of agents shows this count only to principals without limits', async () => {
    const telemetry = createTelemetry()
    await using test = await hostUnderTest({ telemetry })
    const session = await test.create()
    await session.play(
      ...Array.from({ length: 30 }, (_, n) => ({
        type: 'unrecognised' as const,
        native: { type: `hologram-${n % 20}`, payload: { secret: 'parsley' } },
      })),
    )
    const families = readPrometheus(telemetry.metrics({ version: '1', clients: {}, waiting: {} }))
    expect(sampleValue(families, 'parley_unrecognised_messages_total', { agent: 'scripted' })).toBe(30)
    expect(families.get('parley_unrecognised_messages_total')?.samples).toHaveLength(1)

    const [agent] = await test.host.agents()
    expect(agent?.unrecognised).toMatchObject({ count: 30, since: expect.any(Number) })
    expect(agent?.unrecognised?.kinds).toHaveLength(8)
    expect(agent?.unrecognised?.kinds[0]).toEqual({
      kind: 'hologram-0: no such native message is known',
      count: 2,
    })
    expect(JSON.stringify(agent)).not.toContain('parsley')
    const principal = (limits?: Principal['limits']): Principal => ({
      person: { id: 'per_1', name: 'Ada' },
      ...{ kind: 'token', id: 'tok_1', name: 'ci', scopes: new Set(['read']) },
      ...(limits && { limits }),
    })
    const seenBy = async (who: Principal) => (await hostFor(test.host, who, 'http').agents())[0]
    expect(await seenBy(principal())).toEqual(agent)
    const limited = await seenBy(principal({ agents: ['scripted'] }))
    expect([limited?.id, limited?.unrecognised]).toEqual(['scripted', undefined])
  })

  it('needs the token, and is refused without telemetry', async () => {
    await using test = await hostUnderTest()
    const server = await serverUnderTest(test.host)
    expect((await server.ask('/metrics', { token: false })).status).toBe(401)
    const { status, body } = await server.ask('/metrics')
    expect([status, body]).toMatchObject([422, { error: { code: 'not_supported' } }])
    await server.close()
  })

  it('works inside another server too, with the number of connected clients', async () => {
    const telemetry = createTelemetry()
    await using test = await hostUnderTest({ telemetry })
    let port = 0
    const url = () => `http://127.0.0.1:${port}`
    const parley = createEmbedded({ host: test.host, token: testToken, url, base: '/parley', telemetry })
    const server = createServer((request, response) => void parley.answer(request, response))
    server.on('upgrade', (request, socket, head) => void parley.upgrade(request, socket, head))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
    const headers = { authorization: `Bearer ${testToken}` }
    const socket = new WebSocket(`ws://127.0.0.1:${port}/parley/api/ws`, { headers })
    await once(socket, 'open')
    const response = await fetch(`${url()}/parley/metrics`, { headers })
    const families = readPrometheus(await response.text())
    expect(sampleValue(families, 'parley_clients_connected', { face: 'websocket' })).toBe(1)
    expect(sampleValue(families, 'parley_clients_connected', { face: 'sse' })).toBe(0)
    socket.terminate()
    parley.close()
    server.close()
    server.closeAllConnections()
  })
})
