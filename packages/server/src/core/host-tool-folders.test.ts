import { existsSync, statSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../tools/define-tool.ts'
import { hostUnderTest } from './host-under-test.ts'
import type { Limits } from './limits.ts'

const keep = { type: 'host-tool', name: 'keep', input: {} } as const

/** A host whose tool writes a file into the temporary folder, and the folders that the tool got. */
async function world(limits: Partial<Limits> = {}) {
  const folders: string[] = []
  const tool = defineTool({
    name: 'keep',
    description: 'Keeps something for a moment.',
    input: z.object({}),
    annotations: { safe: true },
    async run(_, { temporaryFolder }) {
      const folder = await temporaryFolder()
      folders.push(folder)
      await writeFile(join(folder, 'note.txt'), 'x')
      return 'kept'
    },
  })
  const made = await hostUnderTest({ tools: [tool], limits })
  onTestFinished(() => made[Symbol.asyncDispose]())
  return { made, folders }
}

it('the temporary folder is one private folder for all calls of a session, and is created when a tool first asks for it', async () => {
  const { made, folders } = await world()
  const [one, other, third] = [await made.create(), await made.create(), await made.create()]
  await one.play(keep, keep)
  await one.play(keep)
  await other.play(keep)
  await third.play({ type: 'text', text: 'hi' })
  const [first = '', ...rest] = folders
  expect(rest).toEqual([first, first, expect.not.stringMatching(first)])
  expect(statSync(first).mode & 0o777).toBe(0o700)
})

it.each([
  ['the session is closed', (id: string) => ({ id, by: 'close' as const })],
  ['the session is deleted', (id: string) => ({ id, by: 'delete' as const })],
  ['the host is closed', (id: string) => ({ id, by: 'stop' as const })],
])('the temporary folder is removed with its content when %s', async (_, how) => {
  const { made, folders } = await world()
  const session = await made.create()
  const other = await made.create()
  await session.play(keep)
  await other.play(keep)
  const { id, by } = how(session.id)
  if (by === 'close') await session.command({ type: 'session.close' })
  if (by === 'delete') await made.host.delete(id)
  if (by === 'stop') await made.restart()
  await expect.poll(() => existsSync(folders[0] ?? '')).toBe(false)
  expect(existsSync(folders[1] ?? '')).toBe(by !== 'stop')
  if (by === 'delete') return
  await session.play(keep)
  expect(existsSync(folders[2] ?? '')).toBe(true)
})

it('the temporary folder is removed when the session leaves memory, and created again when a tool asks for it', async () => {
  const { made, folders } = await world({ idleCloseMs: 1_000, unloadMs: 60_000 })
  const [session, other] = [await made.create(), await made.create()]
  await session.play(keep)
  made.time.advance(1_000)
  await session.when(({ connected }) => !connected)
  expect(existsSync(folders[0] ?? '')).toBe(true)
  await other.play(keep)
  const pass = async () => {
    made.time.advance(1_000)
    // Uses the other session, which therefore stays in memory and keeps its folder.
    await other.state()
    return existsSync(folders[0] ?? '')
  }
  await expect.poll(pass, { interval: 1 }).toBe(false)
  expect(existsSync(folders[1] ?? '')).toBe(true)
  await session.play(keep)
  expect(existsSync(folders[2] ?? '')).toBe(true)
})
