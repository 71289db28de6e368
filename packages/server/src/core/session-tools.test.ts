import { capabilities } from '@parley/protocol'
import { expect, it } from 'vitest'
import { lookup } from './host-tools-under-test.ts'
import { hostUnderTest } from './host-under-test.ts'

const { tool } = lookup({ safe: true })
const other = { ...tool, name: 'other' }
const script = (...names: string[]) =>
  JSON.stringify(names.map((name) => ({ type: 'host-tool', name, input: { word: 'sage' }, unasked: true })))

it('offers a session its own tools in addition to those of the host, and offers them to no other session', async () => {
  await using under = await hostUnderTest({ tools: [other] })
  const { id } = await under.host.create({ agent: 'scripted', cwd: under.cwd }, { tools: [tool] })
  await submit(under, id, script('lookup', 'other'))
  const plain = await under.host.create({ agent: 'scripted', cwd: under.cwd })
  await submit(under, plain.id, script('lookup'))
  const offered = under.connections.map(({ input }) => input.hostTools?.tools.map(({ name }) => name))
  expect(offered).toEqual([['other', 'lookup'], ['other']])
  expect(await outcomes(under, id)).toEqual(['completed', 'completed'])
  expect(await outcomes(under, plain.id)).toEqual(['failed'])
})

it('restarts the agent only if its tools have changed', async () => {
  await using under = await hostUnderTest()
  const { id } = await under.host.create({ agent: 'scripted', cwd: under.cwd }, { tools: [tool] })
  await submit(under, id, script('lookup'))
  await under.host.offerTools(id, [{ ...tool }])
  await submit(under, id, script('lookup'))
  expect(under.connections.length).toBe(1)
  await under.host.offerTools(id, [other])
  await submit(under, id, script('other', 'lookup'))
  expect(under.connections.length).toBe(2)
  expect(under.connections[1]?.input.resume).toBeDefined()
  expect(await outcomes(under, id)).toEqual(['completed', 'completed', 'completed', 'failed'])
})

it('keeps the tools of a session when a repeated creation is refused', async () => {
  await using under = await hostUnderTest()
  const session = { agent: 'scripted', cwd: under.cwd, commandId: 'one' }
  const { id } = await under.host.create(session, { tools: [tool] })
  const another = under.host.create({ ...session, title: 'Another' }, { tools: [other] })
  await expect(another).rejects.toMatchObject({ code: 'conflict' })
  await submit(under, id, script('lookup'))
  expect(await outcomes(under, id)).toEqual(['completed'])
})

it('refuses tools for an agent without the capability, names that exist, and sessions created without tools', async () => {
  await using under = await hostUnderTest({ tools: [other] })
  const session = { agent: 'scripted', cwd: under.cwd }
  const clash = under.host.create(session, { tools: [other] })
  await expect(clash).rejects.toMatchObject({ code: 'validation_error' })
  const { id } = await under.host.create(session)
  await expect(under.host.offerTools(id, [tool])).rejects.toMatchObject({ code: 'conflict' })
  const released = await under.host.create(session, { tools: [tool] })
  under.host.releaseTools(released.id)
  await expect(under.host.offerTools(released.id, [tool])).rejects.toMatchObject({ code: 'conflict' })
  await using without = await hostUnderTest({ agent: { capabilities: capabilities('streaming') } })
  const unable = without.host.create({ ...session, cwd: without.cwd }, { tools: [tool] })
  await expect(unable).rejects.toMatchObject({
    code: 'not_supported',
    details: { capability: 'hostTools' },
  })
  expect((await without.host.list({ limit: 10 })).sessions).toEqual([])
})

type Under = Awaited<ReturnType<typeof hostUnderTest>>

async function submit({ host }: Under, id: string, text: string): Promise<void> {
  const { seq } = await host.command(id, { type: 'prompt.submit', commandId: crypto.randomUUID(), text })
  for await (const event of host.events(id, { after: seq - 1 })) if (event.type === 'turn.ended') break
}

async function outcomes({ host }: Under, id: string): Promise<unknown[]> {
  const { events } = await host.read(id, { after: 0, limit: 1000 })
  return events.flatMap(({ json }) => {
    const { type, outcome } = JSON.parse(json)
    return type === 'tool-call.ended' ? [outcome] : []
  })
}
