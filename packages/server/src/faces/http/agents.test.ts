import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentAdapter } from '@parley/adapter-kit'
import { findProgram } from '@parley/adapter-kit/find-program'
import { AgentInfo, capabilityNames, routes } from '@parley/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RegistryUnderTest, startRegistry } from '../../adapters/npm-registry-under-test.ts'
import { createScriptedAdapter } from '../../adapters/scripted/index.ts'
import { createAgentInstaller } from '../../agent-installer.ts'
import { createHost } from '../../index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { serverUnderTest } from './server-under-test.ts'

/** The registry on loopback from which the real npm installs agents. */
let registry: RegistryUnderTest
beforeAll(async () => {
  registry = await startRegistry()
  for (const version of ['1.0.0', '2.0.0']) registry.publish({ name: 'tiny-agent', version })
})
afterAll(() => registry?.[Symbol.asyncDispose]())

function tinyAdapter(folder: string, version = '1.0.0'): AgentAdapter {
  return {
    ...createScriptedAdapter({ id: 'tiny', name: 'Tiny' }),
    install: { package: 'tiny-agent', version },
    async probe() {
      const path = findProgram({ name: 'tiny-agent', env: {}, installed: { folder, agent: 'tiny' } })
      return { found: path !== undefined, ...(path && { path }) }
    },
  }
}

async function serve({ version = '1.0.0', withInstaller = true, folder = '' } = {}) {
  const agentsFolder = folder || mkdtempSync(join(tmpdir(), 'parley-http-agents-'))
  const adapters = [tinyAdapter(agentsFolder, version), createScriptedAdapter({ id: 'own', name: 'Own' })]
  const agentInstaller = createAgentInstaller({ adapters, folder: agentsFolder, env: registry.env })
  const store = createMemoryStore()
  const host = await createHost({ adapters, store, ...(withInstaller && { agentInstaller }) })
  const server = await serverUnderTest(host)
  const agent = async (id = 'tiny') => {
    const { body } = await server.ask('/api/agents')
    return AgentInfo.parse((body.agents as { id: string }[]).find((one) => one.id === id))
  }
  return {
    agentsFolder,
    host,
    agent,
    post: (id = 'tiny') => server.ask(`/api/agents/${id}/install`, { method: 'POST' }),
    remove: (id = 'tiny') => server.ask(`/api/agents/${id}/install`, { method: 'DELETE' }),
    async when(holds: (info: AgentInfo) => boolean) {
      for (;;) {
        const info = await agent()
        if (holds(info)) return info
      }
    },
    async [Symbol.asyncDispose]() {
      await server.close()
      await host.close()
      rmSync(agentsFolder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

describe('the list of agents', () => {
  it('contains a description of each capability, and the options that an agent supports', async () => {
    const agent: AgentAdapter = {
      ...createScriptedAdapter({ id: 'tiny', name: 'Tiny' }),
      options: ['effort', 'systemPrompt', 'directories', 'userSettings'],
      restartsFor: ['directories'],
      fixedOptions: ['systemPrompt'],
      keys: ['TINY_API_KEY'],
    }
    const host = await createHost({ adapters: [agent], store: createMemoryStore() })
    const server = await serverUnderTest(host)
    const { body } = await server.ask('/api/agents')
    const { agents, capabilities } = routes.listAgents.reply.parse(body)
    expect(capabilities?.map(({ name }) => name)).toEqual(capabilityNames)
    expect(capabilities).toContainEqual({
      name: 'images',
      type: 'resource',
      description: expect.stringContaining('images'),
    })
    expect(agents[0]?.keys).toEqual(['TINY_API_KEY'])
    expect(agents[0]?.options?.map(({ name, type, takesEffect }) => [name, type, takesEffect])).toEqual([
      ['tools', 'string[]', 'at-once'],
      ['effort', 'string', 'at-once'],
      ['systemPrompt', 'string', 'new-session'],
      ['directories', 'string[]', 'next-start'],
      ['userSettings', 'boolean', 'at-once'],
    ])
    expect(agents[0]?.options?.[1]?.values).toEqual(['low', 'medium', 'high'])
    await server.close()
    await host.close()
  })
})

describe('installing an agent', () => {
  it('starts, reports its progress in the list, and can be reversed by a removal', async () => {
    await using server = await serve()
    expect(await server.agent()).toMatchObject({
      found: false,
      install: { package: 'tiny-agent', version: '1.0.0' },
    })
    const held = registry.hold('tiny-agent')
    const { status, body } = await server.post()
    expect(status).toBe(202)
    expect(body).toEqual({ installing: { since: expect.any(Number), line: expect.any(String) } })
    await held.waits
    const { installing } = await server.agent()
    expect(installing?.since).toBe((body.installing as { since: number }).since)
    expect((await server.post()).body).toMatchObject({ installing: { since: installing?.since } })
    held.release()
    const done = await server.when((info) => info.installing === undefined)
    expect(done).toMatchObject({ found: true, install: { installed: '1.0.0' } })
    expect(done.installError).toBeUndefined()

    expect((await server.remove()).status).toBe(204)
    expect(await server.agent()).toMatchObject({ found: false })
    expect(await server.remove()).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } })
  })

  it('can be stopped, which keeps the previous version', async () => {
    await using server = await serve()
    await server.post()
    await server.when((info) => info.installing === undefined)
    await using newer = await serve({ version: '2.0.0', folder: server.agentsFolder })
    const held = registry.hold('tiny-agent')
    await newer.post()
    await held.waits
    expect((await newer.remove()).status).toBe(204)
    held.release()
    const info = await newer.agent()
    expect(info).toMatchObject({ found: true, install: { version: '2.0.0', installed: '1.0.0' } })
    expect([info.installing, info.installError]).toEqual([undefined, undefined])
    expect(readdirSync(newer.agentsFolder)).toEqual(['tiny'])
  })

  it('reports why it failed, until it is tried again', async () => {
    await using server = await serve({ version: '9.9.9' })
    await server.post()
    const { found, installError } = await server.when((info) => info.installing === undefined)
    expect(found).toBe(false)
    expect(installError).toMatchObject({
      code: 'not_found',
      message: 'There is no version 9.9.9 of tiny-agent.',
    })
    const held = registry.hold('tiny-agent')
    await server.post()
    expect((await server.agent()).installError).toBeUndefined()
    await server.remove()
    held.release()
  })

  it('ends with the host, and leaves nothing behind', async () => {
    await using server = await serve()
    const held = registry.hold('tiny-agent')
    await server.post()
    await held.waits
    await server.host.close()
    held.release()
    expect(readdirSync(server.agentsFolder)).toEqual([])
  })

  it('is refused for an unknown agent, for one that Parley cannot install, and without an installer', async () => {
    await using server = await serve()
    for (const call of [server.post, server.remove]) {
      expect(await call('nobody')).toMatchObject({
        status: 404,
        body: { error: { code: 'agent_not_found' } },
      })
      expect(await call('own')).toMatchObject({ status: 422, body: { error: { code: 'not_supported' } } })
    }
    await using without = await serve({ withInstaller: false })
    expect(await without.post()).toMatchObject({ status: 422, body: { error: { code: 'not_supported' } } })
  })
})
