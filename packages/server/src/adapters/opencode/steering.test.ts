import { existsSync, writeFileSync } from 'node:fs'
import { describe, expect, it, vi } from 'vitest'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import { OpenCodeUnderTest } from './opencode-under-test.ts'

const world = await OpenCodeUnderTest.forFile()
await world.stay(world.adapter({ executable: world.faulty('steer') }))

const waiting = { timeout: 30_000, interval: 50 }

describe('a steered prompt whose request fails', { timeout: 90_000 }, () => {
  it.each([
    ['has not stored it', 'now'],
    ['does not say whether it has stored it', 'unknown'],
  ])('begins the next turn if OpenCode %s', async (_, failure) => {
    await world.onBench(async (bench) => {
      const session = await bench.session()
      const hold = world.server.hold(0)
      const turn = await session.prompt(modelPrompt('Go.', { content: 'I go.' }))
      await hold.reached
      writeFileSync(world.faultsFile, failure)
      const { promptId } = await session.prompt(
        modelPrompt('To the left.', { content: 'Left it is.' }),
        'steer',
      )
      await vi.waitFor(() => expect(existsSync(world.faultsFile)).toBe(false), waiting)
      hold.release()
      await turn.completed()
      const next = await session.until(() => session.all('turn.started')[1])
      expect(next).toMatchObject({ promptId, cause: { by: 'steer' } })
      await session.until(() => session.all('turn.ended')[1])
      expect(session.all('text.written')).toMatchObject([
        { turnId: turn.turnId, text: 'I go.' },
        { turnId: next.turnId, text: 'Left it is.' },
      ])
      expect(session.all('agent.noticed')).toEqual([])
    })
  })

  it('is answered once, in the same turn, if OpenCode has stored it', async () => {
    await world.onBench(async (bench) => {
      const session = await bench.session()
      const hold = world.server.hold(0)
      const turn = await session.prompt(modelPrompt('Go.', { content: 'I go.' }))
      await hold.reached
      writeFileSync(world.faultsFile, 'late')
      await session.prompt(modelPrompt('To the left.', { content: 'Left it is.' }), 'steer')
      await vi.waitFor(() => expect(existsSync(world.faultsFile)).toBe(false), waiting)
      await session.until(() => session.all('prompt.taken')[0])
      hold.release()
      await turn.completed()
      expect(session.all('turn.started')).toHaveLength(1)
      expect(session.all('text.written').map(({ text }) => text)).toEqual(['I go.', 'Left it is.'])
      expect(session.all('agent.noticed')).toEqual([])
    })
  })
})
