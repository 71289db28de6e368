import { mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type HostUnderTest, type HostUnderTestOptions, hostUnderTest } from './host-under-test.ts'

async function world(options?: HostUnderTestOptions): Promise<HostUnderTest> {
  const made = await hostUnderTest(options)
  onTestFinished(async () => {
    await made[Symbol.asyncDispose]()
    expect(made.problems).toEqual([])
  })
  return made
}

const hello = { type: 'text' as const, text: 'Hello.' }
const waitAt = (gate: string) => ({ type: 'wait' as const, gate })
const refusal = (code: string) => expect.objectContaining({ code })
const heeded = ({ connections }: HostUnderTest) => connections.map(({ input }) => input.trusted)

function subfolder({ cwd }: HostUnderTest, name: string): string {
  const folder = join(cwd, name)
  mkdirSync(folder, { recursive: true })
  return folder
}

async function isTrusted(made: HostUnderTest, cwd: string): Promise<boolean> {
  const { id } = await made.create({ cwd })
  return (await made.host.detail(id, 0)).trusted
}

describe('an agent', () => {
  it("loads the folder's settings only while the folder is trusted", async () => {
    const made = await world()
    const { host, cwd } = made
    const session = await made.create()
    await session.play(hello)
    await host.trust(cwd)
    await session.when(({ connected }) => !connected)
    await session.play(hello)
    await host.distrust(cwd)
    await session.when(({ connected }) => !connected)
    await session.play(hello)
    expect(heeded(made)).toEqual([false, true, false])
    const reasons = (await session.events('agent.disconnected')).map(({ reason }) => reason)
    expect(reasons).toEqual(['idle', 'idle'])
    expect(made.connections[2]?.input.resume).toBeDefined()
  })

  it('keeps its process during a turn, and is closed after it', async () => {
    const made = await world()
    const { host, cwd, gates } = made
    const session = await made.create()
    await session.submit(waitAt('here'))
    await gates.reached('here')
    await host.trust(cwd)
    expect((await session.state()).connected).toBe(true)
    gates.open('here')
    const { lastTurn } = await session.when(({ turn, connected }) => !turn && !connected)
    expect(lastTurn?.outcome).toBe('completed')
    await session.play(hello)
    expect(heeded(made)).toEqual([false, true])
  })

  it('is restarted for a prompt that waited in the queue', async () => {
    const made = await world()
    const { host, cwd, gates } = made
    const session = await made.create()
    await session.submit(waitAt('here'))
    await session.submit(hello)
    await gates.reached('here')
    await host.trust(cwd)
    gates.open('here')
    const { turns } = await session.when((state) => state.turns === 2 && !state.turn)
    expect(turns).toBe(2)
    expect(heeded(made)).toEqual([false, true])
  })

  it('that was starting when the trust changed finishes its turn, and is then closed', async () => {
    const starting = Promise.withResolvers<void>()
    const ready = Promise.withResolvers<void>()
    const adapter: HostUnderTestOptions['adapter'] = (scripted) => ({
      ...scripted,
      async connect(input) {
        starting.resolve()
        await ready.promise
        return scripted.connect(input)
      },
    })
    const made = await world({ adapter })
    const session = await made.create()
    await session.submit(hello)
    await starting.promise
    await made.host.trust(made.cwd)
    ready.resolve()
    await session.when(({ turns, connected }) => turns === 1 && !connected)
    await session.play(hello)
    expect(heeded(made)).toEqual([false, true])
  })

  it('in another folder keeps its process', async () => {
    const made = await world()
    const [here, there] = [subfolder(made, 'here'), subfolder(made, 'there')]
    const sessions = [await made.create({ cwd: here }), await made.create({ cwd: there })]
    for (const session of sessions) await session.play(hello)
    await made.host.trust(here)
    await sessions[0]!.when(({ connected }) => !connected)
    await sessions[1]!.play(hello)
    expect(made.connections).toHaveLength(2)
  })

  it('of a new session that trusts its folder has the trust from its first prompt', async () => {
    const made = await world()
    const session = await made.create({ prompt: JSON.stringify([hello]), trust: true })
    await session.when(({ turns }) => turns === 1)
    expect(heeded(made)).toEqual([true])
    expect(await made.host.trusted()).toEqual([{ folder: made.cwd, trustedAt: expect.any(Number) }])
    expect((await session.events('session.created'))[0]).not.toHaveProperty('trust')
  })
})

describe('trust', () => {
  it('covers a folder and everything inside it, but neither its siblings nor its parents', async () => {
    const made = await world()
    await made.host.trust(subfolder(made, 'a'))
    const trusted = async (name: string) => isTrusted(made, subfolder(made, name))
    expect(await trusted('a')).toBe(true)
    expect(await trusted('a/b/c')).toBe(true)
    expect(await trusted('ab')).toBe(false)
    expect(await trusted('a\\b')).toBe(false)
    expect(await isTrusted(made, made.cwd)).toBe(false)
  })

  it('applies to the real folder, for every path that leads to it', async () => {
    const made = await world()
    const [real, outside] = [subfolder(made, 'real'), subfolder(made, 'outside')]
    const link = join(made.cwd, 'link')
    symlinkSync(real, link)
    symlinkSync(outside, join(real, 'way-out'))
    expect(await made.host.trust(`${link}/`)).toMatchObject({ folder: real })
    expect(await isTrusted(made, link)).toBe(true)
    expect(await isTrusted(made, `${real}/.`)).toBe(true)
    expect(await isTrusted(made, join(real, 'way-out'))).toBe(false)
    await made.host.distrust(link)
    expect(await made.host.trusted()).toEqual([])
  })

  it('of the root folder covers everything', async () => {
    const made = await world()
    await made.host.trust('/')
    expect(await isTrusted(made, made.cwd)).toBe(true)
  })

  it('is kept when the host restarts', async () => {
    const made = await world()
    const given = await made.host.trust(made.cwd)
    await made.restart()
    expect(await made.host.trusted()).toEqual([given])
    const session = await made.create()
    await session.play(hello)
    expect(heeded(made)).toEqual([true])
    await made.host.distrust(made.cwd)
    await made.restart()
    expect(await made.host.trusted()).toEqual([])
  })

  it('given twice, even at the same time, is stored once', async () => {
    const made = await world()
    const [first] = await Promise.all([made.host.trust(made.cwd), made.host.trust(`${made.cwd}/`)])
    made.time.advance(1_000)
    expect(await made.host.trust(made.cwd)).toEqual(first)
    expect(await made.host.trusted()).toEqual([first])
  })

  it('is refused for a path that is not a folder', async () => {
    const { host, cwd } = await world()
    await expect(host.trust(join(cwd, 'nowhere'))).rejects.toEqual(refusal('validation_error'))
    expect(await host.trusted()).toEqual([])
  })

  it('can be revoked when the folder no longer exists', async () => {
    const made = await world()
    const folder = subfolder(made, 'gone')
    await made.host.trust(folder)
    rmSync(folder, { recursive: true })
    await made.host.distrust(folder)
    expect(await made.host.trusted()).toEqual([])
  })

  it('must be revoked for the folder it was given for: the refusal names that folder', async () => {
    const made = await world()
    const inside = subfolder(made, 'inside')
    await expect(made.host.distrust(inside)).rejects.toEqual(refusal('not_found'))
    await made.host.trust(made.cwd)
    await expect(made.host.distrust(inside)).rejects.toMatchObject({
      code: 'conflict',
      details: { folder: made.cwd },
    })
    expect(await isTrusted(made, inside)).toBe(true)
  })

  it('that was revoked is not restored when the creation of a session is repeated', async () => {
    const made = await world()
    const create = () => made.create({ commandId: 'once', trust: true })
    const { id } = await create()
    await made.host.distrust(made.cwd)
    expect((await create()).id).toBe(id)
    expect(await made.host.trusted()).toEqual([])
  })
})
