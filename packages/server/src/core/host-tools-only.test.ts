import { capabilities, capabilityNames, type SessionEvent } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { faultyAgent } from './faulty-agent-under-test.ts'
import { hostWith, step } from './host-tools-under-test.ts'

describe('a session with host tools only', () => {
  const options = { hostToolsOnly: true }

  it('has an agent with no other tools, and permits no other call', async () => {
    await using host = await hostWith({ safe: true })
    const session = await host.under.create({ options, mode: 'bypass' })
    await session.play(step('sage'), { type: 'permission', name: 'Bash', kind: 'execute' })
    expect((await session.state()).connection?.tools).toEqual(['host:lookup'])
    const ends = await session.events('tool-call.ended')
    expect(ends.map(({ outcome }) => outcome)).toEqual(['completed', 'denied'])
  })

  it('ends when the agent reports another tool', async () => {
    await using host = await hostWith({ safe: true })
    const session = await host.under.create({ options })
    await session.play(
      { type: 'text', text: 'here I am' },
      { type: 'tools', tools: ['host:lookup', 'Bash', 'lookup', 'host:other'] },
      step('sage'),
      { type: 'text', text: 'never said' },
    )
    const tools = ['Bash', 'lookup', 'host:other']
    const error = { code: 'forbidden', details: { tools } }
    expect(await session.events('turn.ended')).toMatchObject([
      { outcome: 'failed', stopReason: 'tools_violated', error },
    ])
    expect(await session.events('agent.noticed')).toMatchObject([
      { level: 'error', code: 'tools_violated', data: { tools } },
    ])
    expect(host.calls).toEqual([])
    await session.when((state) => !state.connected)
    expect(await session.state()).toMatchObject({ archived: true, status: 'idle' })
    await expect(session.submit()).rejects.toMatchObject({ code: 'conflict' })
  })

  it('ends before anything runs when the agent reports another tool at its start', async () => {
    const agent = faultyAgent(
      ({ say }) => {
        say({ type: 'agent.connected', agentSessionId: 'a', tools: ['Bash'] })
        return {}
      },
      ['permissions', 'hostTools'],
    )
    await using host = await hostWith({}, { adapter: agent.adapter })
    const session = await host.under.create({ options })
    await session.submit()
    await session.idle()
    expect(await session.events('turn.ended')).toMatchObject([{ outcome: 'failed' }])
    await session.when((state) => !state.connected)
    expect(agent.open).toBe(0)
    const log = await session.log()
    expect(log.filter(({ type }: SessionEvent) => type === 'session.archived')).toHaveLength(1)
  })

  it('continues, with all tools, once a person allows them', async () => {
    await using host = await hostWith({ safe: true })
    const session = await host.under.create({ options })
    await session.play({ type: 'tools', tools: ['Bash'] })
    await host.under.host.patch(session.id, { archived: false })
    await session.command({ type: 'session.configure', options: { hostToolsOnly: false } })
    await session.play(step('sage'))
    expect(host.calls).toHaveLength(1)
    expect((await session.state()).connection?.tools).toContain('Bash')
  })

  it('restarts its agent when the option is set later', async () => {
    await using host = await hostWith({ safe: true })
    const session = await host.under.create()
    await session.play({ type: 'text', text: 'hi' })
    expect((await session.state()).connection?.tools).toContain('Bash')
    await session.command({ type: 'session.configure', options })
    await session.play(step('sage'))
    expect((await session.state()).connection?.tools).toEqual(['host:lookup'])
    expect(host.under.connections).toHaveLength(2)
  })

  it('is refused for an agent that cannot be limited to host tools', async () => {
    await using host = await hostWith({}, { agent: { capabilities: capabilities('permissions') } })
    const refusal = { code: 'not_supported', details: { option: 'hostToolsOnly' } }
    await expect(host.under.create({ options })).rejects.toMatchObject(refusal)
  })

  it('has no MCP servers, and no session may have one with the reserved name', async () => {
    await using host = await hostWith({}, { agent: { capabilities: capabilities(...capabilityNames) } })
    const { under } = host
    const server = { command: 'true' }
    const refusal = { code: 'validation_error' }
    await expect(under.create({ options, mcpServers: { echo: server } })).rejects.toMatchObject(refusal)
    await expect(under.create({ mcpServers: { parley: server } })).rejects.toMatchObject(refusal)
    const session = await under.create({ mcpServers: { echo: server } })
    const configured = session.command({ type: 'session.configure', options })
    await expect(configured).rejects.toMatchObject(refusal)
  })
})
