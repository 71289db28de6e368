import type { Block } from '@parley/protocol'
import { applyToTimeline, isKnown } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import type { ScriptedAdapterOptions } from '../adapters/scripted/index.ts'
import { memoryTranscript } from '../adapters/scripted/transcript.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { logProblems } from '../testing/invariants.ts'
import { killableStore } from '../testing/killable-store.ts'
import { remembering } from '../testing/script-scenarios.ts'
import { type HostUnderTest, hostUnderTest, SessionUnderTest } from './host-under-test.ts'

const agent: ScriptedAdapterOptions = { script: remembering }
const talk = { type: 'session.rewind', files: false, talk: true } as const

async function told(world: HostUnderTest, ...words: string[]) {
  const session = await world.create()
  const prompts: string[] = []
  for (const text of words) {
    prompts.push((await session.command({ type: 'prompt.submit', text })).promptId ?? '')
    await session.idle()
  }
  return { session, prompts }
}

/** Asks the agent, in a new turn, which prompts it remembers. */
async function known(session: SessionUnderTest): Promise<string> {
  const { turns } = await session.state()
  await session.command({ type: 'prompt.submit', text: 'what did I say?' })
  await session.when((state) => state.turns === turns + 1)
  return (await session.texts()).at(-1) ?? ''
}

async function timeline(session: SessionUnderTest): Promise<Block[]> {
  return applyToTimeline([], (await session.log()).filter(isKnown))
}

describe('a rewind of the conversation', () => {
  it('makes the agent continue from the messages before the prompt, and keeps the later blocks as taken back', async () => {
    await using world = await hostUnderTest({ agent })
    const { session, prompts } = await told(world, 'one', 'two', 'three')
    await session.command({ ...talk, promptId: prompts[1]! })
    const [rewound] = await session.events('session.rewound')
    const isTakenBack = (block: Block) => block.takenBack === rewound?.seq
    const blocks = await timeline(session)
    const turn = ['prompt', 'text', 'turn-end']
    expect(blocks.filter(isTakenBack).map(({ type }) => type)).toEqual([...turn, ...turn])
    expect(blocks.at(-1)).toMatchObject({ type: 'notice', code: 'session_rewound' })
    expect(await known(session)).toBe('You said: one')
    expect((await session.state()).rewound).toBeUndefined()
    expect(logProblems(await session.log())).toEqual([])
    expect((await timeline(session)).filter(isTakenBack)).toHaveLength(6)
  })

  it('can be undone until the next turn', async () => {
    await using world = await hostUnderTest({ agent })
    const { session, prompts } = await told(world, 'one', 'two')
    const before = (await session.state()).connection?.agentSessionId
    await session.command({ ...talk, promptId: prompts[0]! })
    await session.command({ type: 'session.unrewind' })
    expect((await timeline(session)).filter((block) => block.takenBack !== undefined)).toEqual([])
    expect(await known(session)).toBe('You said: one; two')
    expect((await session.state()).connection?.agentSessionId).toBe(before)
    await session.command({ ...talk, promptId: prompts[1]! })
    expect(await known(session)).toBe('You said: one')
    await expect(session.command({ type: 'session.unrewind' })).rejects.toThrow(/a turn has started since/)
  })

  it('can be repeated to an earlier prompt, and only the last rewind is undone', async () => {
    await using world = await hostUnderTest({ agent })
    const { session, prompts } = await told(world, 'one', 'two', 'three')
    await session.command({ ...talk, promptId: prompts[2]! })
    const again = session.command({ ...talk, promptId: prompts[2]! })
    await expect(again).rejects.toThrow(/already taken back/)
    await session.command({ ...talk, promptId: prompts[1]! })
    await session.command({ type: 'session.unrewind' })
    await expect(session.command({ type: 'session.unrewind' })).rejects.toMatchObject({ code: 'conflict' })
    expect(await known(session)).toBe('You said: one; two')
  })

  it('is followed by no queued prompt until the queue is resumed', async () => {
    await using world = await hostUnderTest({ agent })
    const { session, prompts } = await told(world, 'one', 'two')
    await session.command({ type: 'prompt.submit', text: 'later', paused: true })
    await session.command({ ...talk, promptId: prompts[1]! })
    expect((await session.state()).queue).toMatchObject([{ paused: true }])
    expect((await timeline(session)).findLast(({ type }) => type === 'prompt')?.takenBack).toBeUndefined()
    await session.command({ type: 'queue.resume' })
    await session.idle()
    expect(await known(session)).toBe('You said: one; later')
  })

  it('is not copied as a pending rewind: a fork continues from the same point as the session', async () => {
    await using world = await hostUnderTest({ agent })
    const { session, prompts } = await told(world, 'one', 'two')
    const fork = async (commandId: string, before?: string) => {
      const command = { type: 'session.fork', commandId, ...(before && { before }) } as const
      return new SessionUnderTest(() => world.host, (await session.command(command)).sessionId ?? '')
    }
    await session.command({ ...talk, promptId: prompts[1]! })
    const pending = await fork('pending')
    expect(await known(session)).toBe('You said: one')
    const [, , third] = await session.events('turn.started')
    const later = await fork('later')
    const before = await fork('before', third?.promptId)
    const takenBack = await fork('taken back', prompts[1])
    expect(await known(pending)).toBe('You said: one')
    await expect(pending.command({ type: 'session.unrewind' })).rejects.toMatchObject({ code: 'conflict' })
    expect(await known(later)).toBe('You said: one; what did I say?')
    expect(await known(before)).toBe('You said: one')
    expect(await known(takenBack)).toBe('You said: one')
  })

  it('takes effect once, completely or not at all, after a kill at any write', async () => {
    for (const isWritten of [true, false]) {
      for (let write = 0; write < 3; write++) {
        const store = createMemoryStore()
        const killable = killableStore(store)
        const transcript = memoryTranscript()
        const world = await hostUnderTest({ store: killable.store, agent: { ...agent, transcript } })
        const { session, prompts } = await told(world, 'one', 'two')
        const rewind = { ...talk, promptId: prompts[1]!, commandId: 'rewind' }
        killable.killAt(write, isWritten)
        void session.command(rewind).catch(() => undefined)
        for (let rounds = 0; rounds < 100; rounds++) await new Promise((resolve) => setImmediate(resolve))
        await using next = await hostUnderTest({ store, agent: { ...agent, transcript } })
        const again = new SessionUnderTest(() => next.host, session.id)
        await again.command(rewind)
        expect(await again.events('session.rewound')).toHaveLength(1)
        expect(await known(again)).toBe('You said: one')
      }
    }
  })
})

describe('a rewind of the conversation is refused', () => {
  it('while a turn is open, if there is nothing to rewind, and with files if no snapshots are taken', async () => {
    await using world = await hostUnderTest({ agent })
    const { session, prompts } = await told(world, 'one')
    const both = { type: 'session.rewind', promptId: prompts[0]!, talk: true } as const
    await expect(session.command(both)).rejects.toMatchObject({ code: 'not_supported' })
    const neither = { type: 'session.rewind', promptId: prompts[0]!, files: false } as const
    await expect(session.command(neither)).rejects.toMatchObject({ code: 'validation_error' })
    await session.submit({ type: 'hang' })
    const now = session.command({ ...talk, promptId: prompts[0]! })
    await expect(now).rejects.toMatchObject({ code: 'conflict' })
  })
})
