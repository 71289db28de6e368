import { describe, expect, it } from 'vitest'
import { connectedAs, faultyAgent, loopTurns, until } from './faulty-agent-under-test.ts'
import { hostUnderTest } from './host-under-test.ts'

const limits = { idleCloseMs: 1_000 }
const preview = { files: ['/a.txt'], notes: [] }

/** A session whose agent was closed after its first turn. The agent connects again only when `open` is called. */
async function idleSession() {
  const gate = Promise.withResolvers<void>()
  const agent = faultyAgent(
    async (connection) => {
      if (connection.number > 0) await gate.promise
      return {
        async send() {
          connection.say(connectedAs('odd'))
          connection.endTurn()
        },
        previewRewind: async () => preview,
      }
    },
    ['permissions', 'resume', 'rewind', 'rejoin'],
  )
  const under = await hostUnderTest({ limits, adapter: agent.adapter })
  const session = await under.create()
  const { promptId = '' } = await session.command({ type: 'prompt.submit', text: 'Change a file.' })
  await session.when(({ turns, turn }) => turns === 1 && !turn)
  under.time.advance(limits.idleCloseMs)
  await session.when(({ connected }) => !connected)
  return { under, agent, session, promptId, open: () => gate.resolve() }
}

describe('a preview of a rewind that starts the agent', () => {
  it('shares that start with a second preview', async () => {
    const { under, agent, session, promptId, open } = await idleSession()
    await using _ = under
    const both = [1, 2].map(() => under.host.previewRewind(session.id, promptId))
    await until(() => agent.connections.length > 1)
    await loopTurns(5)
    open()
    expect(await Promise.all(both)).toEqual([preview, preview])
    expect(agent.connections).toHaveLength(2)
    expect(agent.open).toBe(1)
  })

  it('shares that start with a prompt', async () => {
    const { under, agent, session, promptId, open } = await idleSession()
    await using _ = under
    const previewed = under.host.previewRewind(session.id, promptId)
    await until(() => agent.connections.length > 1)
    await session.command({ type: 'prompt.submit', text: 'Go on.' })
    await loopTurns(5)
    open()
    expect(await previewed).toEqual(preview)
    await session.when(({ turns, turn }) => turns === 2 && !turn)
    expect(agent.connections).toHaveLength(2)
    expect(agent.open).toBe(1)
  })
})
