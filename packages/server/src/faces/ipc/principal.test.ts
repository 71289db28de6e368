import type { SessionEvent } from '@parley/protocol'
import { expect, it, onTestFinished } from 'vitest'
import type { Principal } from '../../access/index.ts'
import { hostUnderTest, permission } from '../../core/host-under-test.ts'
import type { Host } from '../../core/index.ts'
import { folderForTest } from '../../testing/temporary-folder.ts'
import { createIpcFace } from './index.ts'
import { wireUnderTest } from './port-under-test.ts'
import { createPreload } from './preload.ts'

/** Tests a page that acts for a person whom the program names. */
async function pageOf(
  principal?: (cwd: string) => Partial<Principal>,
  wrapped: (host: Host) => Host = (host) => host,
) {
  const world = await hostUnderTest()
  const wire = wireUnderTest()
  const person = { id: 'ada', name: 'Ada' }
  const ada: Principal = { person, kind: 'embedded', id: 'ada', name: 'Ada', scopes: new Set() }
  const given = principal && { principal: { ...ada, ...principal(world.cwd) } }
  const face = createIpcFace({ host: wrapped(world.host), ...wire.main, ...given })
  onTestFinished(async () => {
    face.close()
    wire.close()
    await world[Symbol.asyncDispose]()
  })
  const page = createPreload(wire.page)
  const connect = async (cwd = world.cwd) => {
    const answer = await page.connect('task', { type: 'scripted', payload: { cwd } })
    return { answer, sessionId: (answer as { sessionId?: string }).sessionId ?? '' }
  }
  const events = async (sessionId: string) =>
    (await world.host.read(sessionId, { limit: 1000 })).events.map(
      ({ json }) => JSON.parse(json) as SessionEvent,
    )
  return { world, page, connect, events }
}

const prompter = (cwd: string): Partial<Principal> => ({
  scopes: new Set(['read', 'prompt']),
  limits: { folders: [{ folder: cwd }] },
})

it('the log names the person, and only what the scopes and limits permit is done', async () => {
  const { world, page, connect, events } = await pageOf(prompter)
  const { sessionId } = await connect()
  const asked = new Promise<string>((resolve) =>
    page.onMessage(({ message }) => message.type === 'permission_request' && resolve(message.id)),
  )
  await page.send('task', JSON.stringify([permission('a.txt')]))
  const refused = await page.respondToPermission('task', await asked, 'allow')
  expect(refused).toMatchObject({ success: false, code: 'forbidden' })
  expect((await world.host.state(sessionId)).requests).toHaveLength(1)
  const prompt = (await events(sessionId)).find(({ type }) => type === 'prompt.submitted')
  expect(prompt).toMatchObject({ actor: { person: { id: 'ada', name: 'Ada' }, via: 'ipc' } })
  expect((await connect(folderForTest())).answer).toMatchObject({ success: false, code: 'forbidden' })
  const outside = await world.host.create({ agent: 'scripted', cwd: folderForTest() })
  expect(await page.loadSession('task', outside.id)).toMatchObject({ success: false, code: 'not_found' })
})

it('without a principal, the page acts for the owner, as before', async () => {
  const { page, connect, events } = await pageOf()
  const { sessionId } = await connect(folderForTest())
  expect(await page.send('task', '[]')).toMatchObject({ success: true })
  const prompt = (await events(sessionId)).find(({ type }) => type === 'prompt.submitted')
  expect(prompt).not.toHaveProperty('actor')
})

it('when the access ends, messages stop and calls are refused', async () => {
  const leaving = new AbortController()
  const { world, page, connect } = await pageOf((cwd) => ({ ...prompter(cwd), signal: leaving.signal }))
  const { sessionId } = await connect()
  leaving.abort()
  const received: unknown[] = []
  page.onMessage((message) => received.push(message))
  expect(await page.send('task', '[]')).toMatchObject({ success: false, code: 'unauthorized' })
  await world.host.command(sessionId, {
    type: 'prompt.submit',
    commandId: 'owner',
    text: JSON.stringify([{ type: 'text', text: 'secret' }]),
  })
  for await (const event of world.host.events(sessionId)) if (event.type === 'turn.ended') break
  expect(received).toEqual([])
})

it('a task that is being connected when the access ends is not connected', async () => {
  const leaving = new AbortController()
  let sessionId = ''
  const { world, page, connect } = await pageOf(
    (cwd) => ({ ...prompter(cwd), signal: leaving.signal }),
    (host) => ({
      ...host,
      async follow(session, ...rest) {
        const leave = await host.follow(session, ...rest)
        sessionId = session
        leaving.abort()
        return leave
      },
    }),
  )
  const received: unknown[] = []
  page.onMessage((message) => received.push(message))
  expect((await connect()).answer).toMatchObject({ success: false, code: 'unauthorized' })
  await world.host.command(sessionId, {
    type: 'prompt.submit',
    commandId: 'owner',
    text: JSON.stringify([{ type: 'text', text: 'secret' }]),
  })
  for await (const event of world.host.events(sessionId)) if (event.type === 'turn.ended') break
  expect(received).toEqual([])
})
