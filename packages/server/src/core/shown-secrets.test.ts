import { capabilities, type McpServers, type SessionEvent } from '@parley/protocol'
import { afterAll, describe, expect, it } from 'vitest'
import { createScriptedAdapter, scriptedCapabilities } from '../adapters/scripted/index.ts'
import { createHost } from '../index.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { resolvedServers } from './shown-secrets.ts'

const secret = 'sk-very-secret'
const servers: McpServers = {
  local: {
    command: '/usr/bin/tool',
    args: ['-y', 'package', '--token', secret, `--key=${secret}`, `-p${secret}`],
    env: { API_KEY: secret },
  },
  far: {
    type: 'http',
    url: `https://user:${secret}@mcp.example:8443/${secret}/sse?key=${secret}#${secret}`,
    headers: { Authorization: `Bearer ${secret}` },
  },
  plain: { type: 'sse', url: 'https://mcp.example/' },
}
const shown = {
  local: {
    command: '/usr/bin/tool',
    args: ['***', '***', '--token', '***', '--key=***', '***'],
    env: { API_KEY: '***' },
  },
  far: { type: 'http', url: 'https://mcp.example:8443/***', headers: { Authorization: '***' } },
  plain: { type: 'sse', url: 'https://mcp.example/' },
}

const started: (McpServers | undefined)[] = []
const scripted = createScriptedAdapter({ capabilities: capabilities(...scriptedCapabilities, 'mcp') })
const adapter = {
  ...scripted,
  connect: (input: Parameters<typeof scripted.connect>[0]) => {
    started.push(input.mcpServers)
    return scripted.connect(input)
  },
}
const store = createMemoryStore()
const host = await createHost({ adapters: [adapter], store })
afterAll(() => host.close())

describe('the settings of MCP servers', () => {
  it('are whole for the agent and hidden in every reply, event and page of the log', async () => {
    const made = await host.create({ agent: 'scripted', cwd: '/tmp', mcpServers: servers })
    const { id } = made
    await host.command(id, { commandId: 'a', type: 'session.configure', mcpServers: servers })
    await host.command(id, { commandId: 'b', type: 'prompt.submit', text: 'hi' })
    const events: SessionEvent[] = []
    for await (const event of host.events(id)) {
      events.push(event as SessionEvent)
      if (event.type === 'turn.ended') break
    }
    expect(started.at(-1)).toEqual(servers)
    const { events: page } = await host.read(id, { limit: 100 })
    const reported = JSON.stringify([made, await host.state(id), await host.detail(id, 50), events, page])
    expect(reported).not.toContain(secret)
    expect(made.mcpServers).toEqual(shown)
    expect(events.filter((event) => 'mcpServers' in event && event.type !== 'agent.connected')).toMatchObject(
      [
        { type: 'session.created', mcpServers: shown },
        { type: 'session.configured', mcpServers: shown },
      ],
    )
    expect(JSON.stringify(await store.read(id, { limit: 100 }))).toContain(secret)
  })

  it('stay unchanged when a client sends them back as they were shown, together with other servers', async () => {
    const { id } = await host.create({ agent: 'scripted', cwd: '/tmp', mcpServers: servers })
    const { mcpServers = {} } = await host.state(id)
    const more = { ...mcpServers, other: { command: 'other' } }
    await host.command(id, { commandId: 'a', type: 'session.configure', mcpServers: more })
    await host.command(id, { commandId: 'b', type: 'prompt.submit', text: 'hi' })
    for await (const event of host.events(id)) if (event.type === 'turn.ended') break
    expect(started.at(-1)).toEqual({ ...servers, other: { command: 'other' } })
  })

  it.each([
    ['another command', { local: { ...shown.local, command: '/tmp/evil' } }],
    ['another address', { far: { ...shown.far, url: 'https://evil.example/' } }],
    ['another variable', { local: { ...shown.local, env: { API_KEY: '***', OTHER: 'x' } } }],
    ['another name', { elsewhere: shown.local }],
    ['a name that every object inherits', { constructor: shown.local }],
  ])('are neither restored nor passed on with %s', (_, given) => {
    expect(() => resolvedServers(given as McpServers, servers)).toThrow('are hidden')
  })

  it('cannot contain hidden values in a new session', async () => {
    const mcpServers = { a: { command: 'x', env: { KEY: '***' } } }
    await expect(host.create({ agent: 'scripted', cwd: '/tmp', mcpServers })).rejects.toMatchObject({
      code: 'validation_error',
    })
  })
})
