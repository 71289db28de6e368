import { inReadingOrder } from '@parley/protocol'
import { expect, it } from 'vitest'
import { earlierPrompts } from './earlier-prompts.ts'
import { hostUnderTest } from './host-under-test.ts'

const talk = Array.from({ length: 5 }, (_, at) => ({ type: 'text' as const, text: `piece ${at}` }))

/** A session in which three prompts were queued during the first turn and the second of them was withdrawn. */
async function sessionWithQueue() {
  const world = await hostUnderTest()
  const session = await world.create()
  await session.submit({ type: 'wait', gate: 'go' })
  const ids = [await session.submit(...talk), await session.submit(...talk), await session.submit(...talk)]
  await session.command({ type: 'prompt.withdraw', promptId: ids[1]! })
  world.gates.open('go')
  await session.idle()
  return { world, session, ids }
}

it('a page includes the prompts of the turns that start in it, and no others', async () => {
  const { world, session, ids } = await sessionWithQueue()
  await using _ = world
  const { seq } = await session.state()
  const read = (limit: number) => world.host.read(session.id, { before: seq + 1, limit, prompts: true })
  const types = async (limit: number) =>
    (await read(limit)).prompts
      ?.map(({ json }) => JSON.parse(json))
      .map(({ type, promptId }) => [type, promptId])
  const both = (promptId: string | undefined) => [
    ['prompt.submitted', promptId],
    ['prompt.queued', promptId],
  ]
  expect(await types(3)).toEqual([])
  expect(await types(9)).toEqual(both(ids[2]))
  expect(await types(16)).toEqual([...both(ids[0]), ...both(ids[2])])
  expect(await types(seq)).toEqual([])
  expect(await world.host.read(session.id, { before: seq + 1, limit: 3 })).not.toHaveProperty('prompts')
})

it('the page at the head includes the prompts that are still queued', async () => {
  await using world = await hostUnderTest()
  const session = await world.create()
  await session.submit(...talk, { type: 'wait', gate: 'later' })
  const promptId = await session.submit(...talk)
  await world.gates.reached('later')
  const { seq } = await session.state()
  const page = await world.host.read(session.id, { before: seq + 1, limit: 2, prompts: true })
  expect(page.prompts?.map(({ json }) => JSON.parse(json).promptId)).toEqual([promptId, promptId])
  const older = await world.host.read(session.id, { before: seq, limit: 1, prompts: true })
  expect(older.prompts).toEqual([])
})

it('the last blocks of a session include the prompts of the turns that start among them', async () => {
  const { world, session } = await sessionWithQueue()
  await using _ = world
  const { blocks, firstSeq } = await world.host.detail(session.id, 12)
  const order = inReadingOrder(blocks)
  const firsts = order.filter((block, at) => block.turnId !== order[at - 1]?.turnId)
  expect(firsts.map(({ type }) => type)).toEqual(['prompt', 'prompt'])
  expect(blocks.filter(({ seq }) => seq >= firstSeq)).toHaveLength(12)
})

it('a log that does not contain the prompt of a turn is read once, back to its start', async () => {
  const { world, session } = await sessionWithQueue()
  await using _ = world
  const state = await session.state()
  let reads = 0
  const started = { seq: state.seq, json: '{"type":"turn.started","promptId":"prm_gone"}' }
  const store = {
    async read() {
      reads++
      return []
    },
  }
  expect(await earlierPrompts(store, state, [started])).toEqual([])
  expect(reads).toBe(1)
})
