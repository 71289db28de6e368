import { expect, it, vi } from 'vitest'
import { nodeHosts, script } from '../stores/postgres/hosts-under-test.ts'
import { PostgresServer } from '../stores/postgres/postgres-under-test.ts'
import { folderForFile } from '../testing/temporary-folder.ts'
import { Retention } from './retention.ts'

const server = await PostgresServer.forFile()
const folder = folderForFile()
const open = nodeHosts(server, folder)
const day = 86_400_000

it('on three nodes, the owner of a session deletes it, and a session without an owner is deleted once', async () => {
  const url = await server.database()
  const nodes = [await open(url), await open(url), await open(url)]
  const [one, two] = nodes
  if (!one || !two) throw new Error('there are three nodes')
  const create = async (host: typeof one.host, prompt: string) => {
    const { id } = await host.create({ agent: 'scripted', cwd: folder, prompt })
    return id
  }
  const text = script({ type: 'text', text: 'Hello.' })
  const [first, second] = [await create(one.host, text), await create(two.host, text)]
  const asking = await create(
    two.host,
    script({ type: 'permission', name: 'Write', kind: 'edit', title: 'Write' }),
  )
  await vi.waitUntil(async () => (await one.host.state(asking)).requests.length === 1, 30_000)
  for (const id of [first, second])
    await vi.waitUntil(async () => {
      const state = await one.host.state(id)
      return state.turns === 1 && !state.turn
    }, 30_000)

  const deleted: string[][] = []
  const problems: unknown[] = []
  const clock = { now: () => Date.now() + 10 * day, after: () => () => undefined }
  const retentions = nodes.map(({ host }, index) => {
    const own: string[] = []
    deleted[index] = own
    const info = ({ sessionId }: { sessionId: string }) => void own.push(sessionId)
    const warn = (fields: unknown) => void problems.push(fields)
    const logger = { info, warn } as never
    return new Retention({ host, times: { deleteAfter: day }, isUsed: () => false, logger, clock })
  })
  await Promise.all(retentions.map((retention) => retention.sweep()))
  await vi.waitUntil(async () => {
    await Promise.all(retentions.map((retention) => retention.sweep()))
    return (await one.host.list({ limit: 10 })).sessions.length === 1
  }, 30_000)
  expect(problems).toEqual([])
  expect(deleted[0]).toContain(first)
  expect(deleted[1]).toContain(second)
  expect(deleted.flat().sort()).toEqual([first, second].sort())
  expect((await one.host.list({ limit: 10 })).sessions.map(({ id }) => id)).toEqual([asking])
})
