import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentAdapter } from '@parley/adapter-kit'
import { expect, it, onTestFinished } from 'vitest'
import { createScriptedAdapter } from '../adapters/scripted/index.ts'
import { memoryTranscript } from '../adapters/scripted/transcript.ts'
import { createHost } from '../index.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { SessionUnderTest } from './host-under-test.ts'

const hello = { type: 'text' as const, text: 'Hello.' }

it('restarts an idle agent when its key has changed, with the adapter that has the key', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'parley-keeper-'))
  const transcript = memoryTranscript()
  const started: string[] = []
  const adapter = (key: string): AgentAdapter => {
    const scripted = createScriptedAdapter({ transcript })
    return {
      ...scripted,
      revision: key,
      async connect(input) {
        started.push(`${key} ${input.resume ? 'resumed' : 'new'}`)
        return scripted.connect(input)
      },
    }
  }
  const host = await createHost({
    adapters: [adapter('none')],
    store: createMemoryStore(),
    agentKeeper: {
      stateOf: () => ({}),
      add: async ({ id }) => createScriptedAdapter({ id }),
      forget: async () => undefined,
      setKey: async (_, __, value = 'none') => adapter(value),
      test: async () => [],
    },
  })
  onTestFinished(async () => {
    await host.close()
    rmSync(cwd, { recursive: true, force: true })
  })
  const { id } = await host.create({ agent: 'scripted', cwd })
  const session = new SessionUnderTest(() => host, id)
  await session.play(hello)
  await host.setAgentKey('scripted', { variable: 'API_KEY', value: 'sage' })
  await session.when(({ connected }) => !connected)
  await session.play(hello)
  await host.addAgent({ id: 'mine', command: 'mine' })
  await session.play(hello)
  expect(started).toEqual(['none new', 'sage resumed'])
  expect((await host.agents()).map((agent) => agent.id)).toEqual(['scripted', 'mine'])
  const own = new SessionUnderTest(() => host, (await host.create({ agent: 'mine', cwd })).id)
  await host.forgetAgent('mine')
  expect(await own.play(hello)).toMatchObject({ lastTurn: { error: { code: 'agent_not_found' } } })
  await expect(host.create({ agent: 'mine', cwd })).rejects.toMatchObject({ code: 'agent_not_found' })
})

it('refuses to configure agents if the program that runs the host does not support it', async () => {
  const host = await createHost({ adapters: [createScriptedAdapter()], store: createMemoryStore() })
  const refusal = { code: 'not_supported' }
  await expect(host.addAgent({ id: 'mine', command: 'mine' })).rejects.toMatchObject(refusal)
  await expect(host.testAgent('scripted')).rejects.toMatchObject(refusal)
  await host.close()
})
