import { join } from 'node:path'
import type { AgentAdapter, ConnectInput, PreparedAgent, PrepareInput } from '@parley/adapter-kit'
import { expect, it, onTestFinished } from 'vitest'
import { folderForTest } from '../testing/temporary-folder.ts'
import { faultyAgent, loopTurns, until } from './faulty-agent-under-test.ts'
import { type HostUnderTestOptions, hostUnderTest } from './host-under-test.ts'

type Prepared = {
  readonly input: PrepareInput
  readonly entered: string[]
  state: 'kept' | 'taken' | 'closed'
  usable: boolean
}

/** A host whose agent can be started without a session, and the spares that were started. */
async function world(
  options: HostUnderTestOptions & { refuses?: boolean; hangs?: boolean; slow?: Promise<void> } = {},
) {
  const agent = faultyAgent(
    (connection) => ({
      async send() {
        connection.endTurn()
      },
    }),
    ['environment'],
  )
  const prepared: Prepared[] = []
  let begun = 0
  const cold: ConnectInput[] = []
  const memory = { free: 2 ** 34 }
  const withSpares = (scripted: AgentAdapter): AgentAdapter => {
    const odd = agent.adapter(scripted)
    return {
      ...odd,
      restartsFor: ['maxTurns'],
      options: ['maxTurns'],
      connect: (input) => {
        cold.push(input)
        return odd.connect(input)
      },
      async prepare(input): Promise<PreparedAgent> {
        begun += 1
        await options.slow
        const one: Prepared = { input, entered: [], state: 'kept', usable: true }
        prepared.push(one)
        return {
          get isUsable() {
            return one.usable
          },
          enter: async ({ cwd }) => void one.entered.push(cwd),
          async connect(session) {
            one.state = 'taken'
            if (options.hangs) await hang(session.signal)
            if (options.refuses) throw new Error('This folder is not served.')
            return odd.connect(session)
          },
          async close() {
            if (one.state === 'kept') one.state = 'closed'
          },
        }
      },
    }
  }
  const made = await hostUnderTest({
    ...options,
    limits: { maxSpares: 1, ...options.limits },
    freeBytes: () => memory.free,
    adapter: withSpares,
  })
  onTestFinished(async () => {
    await made[Symbol.asyncDispose]()
    expect(prepared.filter(({ state }) => state === 'kept')).toEqual([])
  })
  const run = async (given: Parameters<typeof made.create>[0] = {}) => {
    const session = await made.create({ prompt: 'hello', ...given })
    await session.when(({ turns }) => turns === 1)
    return session
  }
  const spare = async (count = prepared.length + 1) => {
    await until(() => {
      made.time.advance(2_000)
      return prepared.length === count
    })
    return prepared.at(-1)!
  }
  const otherFolder = () => {
    const folder = folderForTest()
    return folder
  }
  return { ...made, agent, prepared, begun: () => begun, cold, memory, run, spare, otherFolder }
}

it('keeps an agent started for the next session, in any folder', async () => {
  const { run, spare, cold, agent, otherFolder, prepared } = await world()
  await run()
  expect((await spare()).input).not.toHaveProperty('cwd')
  await run({ cwd: otherFolder() })
  expect(cold).toHaveLength(1)
  expect(agent.texts).toEqual(['hello', 'hello'])
  expect(prepared[0]?.state).toBe('taken')
  await spare(2)
})

it('does not give a spare to a session with other start conditions', async () => {
  const { run, spare, cold, host, cwd } = await world()
  await run()
  const kept = await spare()
  await run({ options: { maxTurns: 3 } })
  await run({ env: { WORD: 'parsley' } })
  await host.trust(cwd)
  await run()
  expect(cold).toHaveLength(4)
  expect(kept.state).not.toBe('taken')
})

it('keeps only the latest spare of each agent', async () => {
  const { run, spare, prepared } = await world()
  await run()
  await spare(1)
  await run({ options: { maxTurns: 3 } })
  await spare(2)
  expect(prepared.map(({ state }) => state)).toEqual(['closed', 'kept'])
  expect(prepared[1]?.input.settings.options).toEqual({ maxTurns: 3 })
})

it('keeps no spare if the limit is 0', async () => {
  const { run, time, prepared } = await world({ limits: { maxSpares: 0 } })
  await run()
  time.advance(60_000)
  await loopTurns(5)
  expect(prepared).toEqual([])
})

it('keeps no spare when memory is short, and closes the spare when memory becomes short', async () => {
  const { run, spare, time, memory, prepared } = await world()
  memory.free = 2 ** 20
  await run()
  time.advance(60_000)
  await loopTurns(5)
  expect(prepared).toEqual([])
  memory.free = 2 ** 34
  await run()
  const kept = await spare()
  memory.free = 2 ** 20
  time.advance(10_000)
  await until(() => kept.state === 'closed')
})

it('closes a spare that was not used in time', async () => {
  const { run, spare, time } = await world({ limits: { spareMs: 60_000 } })
  await run()
  const kept = await spare()
  expect(kept.state).toBe('kept')
  time.advance(60_000)
  await until(() => kept.state === 'closed')
})

it('moves the spare to the folder of an announced session', async () => {
  const { host, run, cwd, prepared, cold } = await world()
  await host.prepareSession({ agent: 'scripted', cwd })
  expect(prepared[0]?.entered).toEqual([cwd])
  await run()
  expect(cold).toEqual([])
})

it('gives a spare in a folder to no session in another folder or with other settings', async () => {
  const { host, run, cwd, otherFolder, cold, prepared } = await world()
  await host.prepareSession({ agent: 'scripted', cwd })
  await run({ cwd: otherFolder() })
  await run({ mode: 'read-only' })
  expect(cold).toHaveLength(2)
  expect(prepared[0]?.state).not.toBe('taken')
})

it('uses another spare for another folder', async () => {
  const { host, cwd, otherFolder, prepared } = await world()
  const other = otherFolder()
  await host.prepareSession({ agent: 'scripted', cwd })
  await host.prepareSession({ agent: 'scripted', cwd: other })
  await until(() => prepared[0]?.state === 'closed')
  expect(prepared[1]?.entered).toEqual([other])
})

it('closes a spare that waited too long in a folder, because the folder may have changed', async () => {
  const { host, cwd, prepared, time } = await world({ limits: { spareInFolderMs: 60_000 } })
  await host.prepareSession({ agent: 'scripted', cwd })
  expect(prepared[0]?.state).toBe('kept')
  time.advance(60_000)
  await until(() => prepared[0]?.state === 'closed')
})

it('refuses to prepare a session that could not be created', async () => {
  const { host, cwd, prepared } = await world()
  await expect(host.prepareSession({ agent: 'nobody', cwd })).rejects.toMatchObject({
    code: 'agent_not_found',
  })
  await expect(host.prepareSession({ agent: 'scripted', cwd: join(cwd, 'missing') })).rejects.toMatchObject({
    name: 'ParleyError',
  })
  await expect(host.prepareSession({ agent: 'scripted', cwd, prompt: 'x' } as never)).rejects.toMatchObject({
    code: 'validation_error',
  })
  expect(prepared).toEqual([])
})

it('starts the agent as usual when the spare cannot serve the session', async () => {
  const { run, spare, cold, agent, problems } = await world({ refuses: true })
  await run()
  await spare()
  await run()
  expect(cold).toHaveLength(2)
  expect(agent.texts).toEqual(['hello', 'hello'])
  expect(problems).toEqual(['give a spare agent to a session: Error: This folder is not served.'])
})

it('starts the agent as usual when the spare hangs', async () => {
  const { create, spare, run, cold, agent, time } = await world({ hangs: true })
  await run()
  const kept = await spare()
  const session = await create({ prompt: 'hello' })
  await until(() => kept.state === 'taken')
  time.advance(10_000)
  await session.when(({ turns }) => turns === 1)
  expect(cold).toHaveLength(2)
  expect(agent.texts).toEqual(['hello', 'hello'])
})

it('starts the agent as usual when the start of the spare hangs', async () => {
  const slow = Promise.withResolvers<void>()
  const { host, create, cwd, cold, begun, time, prepared } = await world({ slow: slow.promise })
  const preparing = host.prepareSession({ agent: 'scripted', cwd })
  await until(() => begun() === 1)
  const session = await create({ prompt: 'hello' })
  await until(() => {
    time.advance(5_000)
    return cold.length === 1
  })
  await session.when(({ turns }) => turns === 1)
  slow.resolve()
  await preparing
  await until(() => prepared[0]?.state === 'closed')
  expect(cold).toHaveLength(1)
})

it('closes a spare in a folder when the trust in a folder changes', async () => {
  const { host, cwd, prepared } = await world()
  await host.trust(cwd)
  await host.prepareSession({ agent: 'scripted', cwd })
  expect(prepared[0]?.entered).toEqual([cwd])
  await host.distrust(cwd)
  await until(() => prepared[0]?.state === 'closed')
})

it('does not use a spare that has ended, or whose configuration has changed since its start', async () => {
  const { run, spare, cold } = await world()
  await run()
  const kept = await spare()
  kept.usable = false
  await run()
  expect(cold).toHaveLength(2)
  expect(kept.state).toBe('closed')
})

it('gives the spare to one of two sessions that start at once', async () => {
  const { run, spare, cold } = await world()
  await run()
  await spare()
  await Promise.all([run(), run()])
  expect(cold).toHaveLength(2)
})

it('leaves no process running when the host closes while a spare is starting', async () => {
  const slow = Promise.withResolvers<void>()
  const { host, cwd, prepared, begun } = await world({ slow: slow.promise })
  const preparing = host.prepareSession({ agent: 'scripted', cwd })
  await until(() => begun() === 1)
  const closed = host.close()
  slow.resolve()
  await Promise.all([preparing, closed])
  expect(prepared[0]?.state).toBe('closed')
})

function hang(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('Given up.'))))
}
