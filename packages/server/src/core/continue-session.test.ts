import type { AgentAdapter } from '@parley/adapter-kit'
import { errorInfoOf, type SessionEvent } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { createMemoryStore } from '../stores/memory.ts'
import { killableStore } from '../testing/killable-store.ts'
import { type HostUnderTest, hostUnderTest } from './host-under-test.ts'

const hello = { type: 'text', text: 'Hello there.' } as const
const byAda = { person: { id: 'per_1', name: 'Ada' }, via: 'http' } as const

async function earlierSession(world: HostUnderTest, mode: 'ask' | 'bypass' | 'read-only' = 'ask') {
  const session = await world.create({ title: 'Tidy up', mode })
  await session.play(hello)
  return session
}

async function eventsOf({ host }: Pick<HostUnderTest, 'host'>, sessionId: string): Promise<SessionEvent[]> {
  const { events } = await host.read(sessionId, { after: 0, limit: 1000 })
  return events.map(({ json }) => JSON.parse(json))
}

const firstPrompt = (events: readonly SessionEvent[]) => {
  const prompt = events.find((event) => event.type === 'prompt.submitted')
  return prompt?.type === 'prompt.submitted' ? prompt.parts : []
}

describe('a session that continues another one', () => {
  it('has the hand-off as a file of its first prompt, and the folder and title of the earlier session', async () => {
    await using world = await hostUnderTest()
    const earlier = await earlierSession(world)
    const { seq } = await earlier.state()
    const from = { sessionId: earlier.id }
    const made = await world.host.create({ agent: 'scripted', from, prompt: 'And now?' }, { by: byAda })
    expect(made).toMatchObject({ cwd: (await earlier.state()).cwd, title: 'Tidy up (Scripted)' })
    expect(made.handedFrom).toEqual({ sessionId: earlier.id, seq })
    const [file, text] = firstPrompt(await eventsOf(world, made.id))
    expect(file).toMatchObject({ type: 'file', name: 'hand-off.md', handOff: earlier.id })
    expect(file).toHaveProperty('text', expect.stringContaining('> Hello there.'))
    expect(text).toEqual({ type: 'text', text: 'And now?' })
  })

  it('is named in the earlier session, with the person who created it', async () => {
    await using world = await hostUnderTest()
    const earlier = await earlierSession(world)
    const from = { sessionId: earlier.id }
    const { id: into } = await world.host.create({ agent: 'scripted', from }, { by: byAda })
    const [recorded] = await earlier.events('session.handed-over')
    expect(recorded).toMatchObject({ into, agent: 'scripted', actor: byAda })
  })

  it.each([true, false])(
    'is created once, and named once, if the process is killed at any write (written: %s)',
    async (isWritten) => {
      for (let write = 0; ; write++) {
        const store = createMemoryStore()
        const killable = killableStore(store)
        // The world is not disposed, because the host of a killed process cannot close.
        const world = await hostUnderTest({ store: killable.store })
        const earlier = await earlierSession(world)
        await earlier.command({ type: 'session.close' })
        const { cwd } = world
        const input = { agent: 'scripted', cwd, from: { sessionId: earlier.id }, commandId: 'go on' } as const
        killable.killAt(write, isWritten)
        const created = world.host.create(input).then(() => 'created')
        if ((await Promise.race([created, killable.killed])) === 'created') {
          expect(write).toBeGreaterThan(1)
          return
        }
        await using next = await hostUnderTest({ store })
        const { id: into } = await next.host.create(input)
        const named = (await eventsOf(next, earlier.id)).filter(({ type }) => type === 'session.handed-over')
        const { sessions } = await next.host.list({ limit: 10 })
        const prompts = (await eventsOf(next, into)).filter(({ type }) => type === 'prompt.submitted')
        expect({ write, counts: [named.length, sessions.length, prompts.length] }).toEqual({
          write,
          counts: [1, 2, 1],
        })
      }
    },
  )

  it('gets the text as a text part if its agent takes no files', async () => {
    const without = (scripted: AgentAdapter) => ({
      ...scripted,
      capabilities: { ...scripted.capabilities, files: false },
    })
    await using world = await hostUnderTest({ adapter: without })
    const earlier = await earlierSession(world)
    const { id } = await world.host.create({ agent: 'scripted', from: { sessionId: earlier.id } })
    expect(firstPrompt(await eventsOf(world, id))[0]).toMatchObject({ type: 'text', handOff: earlier.id })
  })

  it('gets the text as a person has edited it', async () => {
    await using world = await hostUnderTest()
    const earlier = await earlierSession(world)
    const from = { sessionId: earlier.id }
    const { text, seq } = await world.host.previewHandOff(earlier.id, { agent: 'scripted' })
    const edited = await world.host.create({ agent: 'scripted', from, context: 'Only this.' })
    expect(firstPrompt(await eventsOf(world, edited.id))[0]).toMatchObject({ text: 'Only this.' })
    expect(edited.handedFrom?.edited).toBe(true)
    await earlier.play(hello)
    const source = { ...from, upTo: seq }
    const same = await world.host.create({ agent: 'scripted', from: source, context: text })
    expect(same.handedFrom).toEqual({ sessionId: earlier.id, seq })
  })

  it('contains only the events before the named prompt', async () => {
    await using world = await hostUnderTest()
    const earlier = await earlierSession(world)
    await earlier.play({ type: 'text', text: 'The second answer.' })
    const before = (await earlier.events('prompt.submitted'))[1]!.promptId
    const from = { sessionId: earlier.id, before }
    const { id, handedFrom } = await world.host.create({ agent: 'scripted', from })
    expect(handedFrom).toMatchObject({ before })
    const [file] = firstPrompt(await eventsOf(world, id))
    expect(file).toHaveProperty('text', expect.stringContaining('Hello there.'))
    expect(file).not.toHaveProperty('text', expect.stringContaining('The second answer.'))
  })

  it('has the mode of the earlier session, unless the actor may not choose that mode because it is wide', async () => {
    await using world = await hostUnderTest()
    const modeOf = async (mode: 'bypass' | 'read-only', mayInheritWideMode: boolean) => {
      const from = { sessionId: (await earlierSession(world, mode)).id }
      const made = await world.host.create({ agent: 'scripted', from }, { mayInheritWideMode })
      return made.requested.mode
    }
    expect(await modeOf('bypass', true)).toBe('bypass')
    expect(await modeOf('bypass', false)).toBe('ask')
    expect(await modeOf('read-only', false)).toBe('read-only')
  })

  it('can continue a session whose agent is gone', async () => {
    const store = createMemoryStore()
    const world = await hostUnderTest({ store })
    const earlier = await earlierSession(world)
    await world[Symbol.asyncDispose]()
    const other = (scripted: AgentAdapter) => ({ ...scripted, id: 'other', name: 'Other' })
    await using next = await hostUnderTest({ store, adapter: other })
    const { id: into } = await next.host.create({
      agent: 'other',
      cwd: next.cwd,
      from: { sessionId: earlier.id },
    })
    expect(await eventsOf(next, earlier.id)).toContainEqual(
      expect.objectContaining({ type: 'session.handed-over', into, agent: 'other' }),
    )
  })
})

describe('session.hand-over', () => {
  it('is refused for a session that does not exist or does not continue this one', async () => {
    await using world = await hostUnderTest()
    const earlier = await earlierSession(world)
    const other = await world.create()
    const handOver = (into: string, commandId?: string) =>
      earlier.command({ type: 'session.hand-over', into, ...(commandId !== undefined && { commandId }) })
    const refusal = async (into: string) => {
      const error = await handOver(into, `hand-over:${into}`).catch((thrown: unknown) => thrown)
      return JSON.stringify(errorInfoOf(error)).replaceAll(into, '<into>')
    }
    expect(await refusal('ses_none')).toContain('"not_found"')
    // Both answers are the same, so nobody learns whether a session exists.
    expect(await refusal(other.id)).toBe(await refusal('ses_none'))
    const { id } = await world.host.create({ agent: 'scripted', from: { sessionId: earlier.id } })
    for (const into of [id, other.id, 'ses_none'])
      await expect(handOver(into)).rejects.toMatchObject({ code: 'validation_error' })
    expect(await earlier.events('session.handed-over')).toHaveLength(1)
  })
})

describe('the budget of a hand-off', () => {
  it('is a quarter of the context window that the agent has reported for the model', async () => {
    await using world = await hostUnderTest()
    const earlier = await earlierSession(world)
    const budget = async (model?: string) =>
      (await world.host.previewHandOff(earlier.id, { agent: 'scripted', model })).budget
    expect([await budget(), await budget('scripted-large'), await budget('scripted-small')]).toEqual([
      96_000, 96_000, 32_000,
    ])
  })
})
