import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connectInput } from '@parley/adapter-kit/testing'
import { describe, expect, it, vi } from 'vitest'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import { opencodeEnvironment, opencodeProgram } from '../../testing/opencode-environment.ts'
import { bash, done, OpenCodeUnderTest } from './opencode-under-test.ts'
import { OpenCodeServer } from './server.ts'
import { oldestVersion, tooOld } from './server-info.ts'

/** Tests that the adapter refuses a program that may act without asking. */

const world = await OpenCodeUnderTest.forFile()

const noProcessLeft = () =>
  vi.waitFor(() => expect(world.processes()).toEqual([]), { timeout: 30_000, interval: 50 })
const advice = 'Correct agents.opencode.command'

describe('another version', () => {
  it.each([
    ['1.18.32', true],
    ['1.18.33-beta.1', true],
    ['1.9.99', true],
    ['0.0.1', true],
    ['local', true],
    [oldestVersion, false],
    ['1.18.100', false],
    ['1.19.0-beta.1', false],
    ['2.0.0', false],
  ])('%s: too old is %s', (version, expected) => {
    expect(tooOld(version, 'get it') !== undefined).toBe(expected)
  })

  it('is reported by the probe', async () => {
    const lines = `if [ "$1" = --version ]; then echo 1.10.0; exit; fi\nexec ${opencodeProgram()} "$@"`
    const executable = world.script('old', lines)
    const found = await world.adapter({ executable }).probe(AbortSignal.timeout(30_000))
    expect(found).toEqual({
      found: true,
      path: executable,
      version: '1.10.0',
      usable: false,
      hint: expect.stringContaining(advice),
    })
  })

  it('is refused on connect', async () => {
    const connecting = world
      .adapter({ executable: world.faulty('version') })
      .connect(connectInput({ cwd: world.home }))
    await expect(connecting).rejects.toMatchObject({
      name: 'ParleyError',
      code: 'agent_failed',
      message: expect.stringContaining(advice),
      details: { version: '1.10.0', needed: oldestVersion },
    })
    await noProcessLeft()
  })
})

const file = () => world.faultsFile
describe('rules that OpenCode does not accept', () => {
  it('at the start: no conversation is opened', async () => {
    writeFileSync(file(), '')
    const connecting = world
      .adapter({ executable: world.faulty('rules') })
      .connect(connectInput({ cwd: world.home }))
    await expect(connecting).rejects.toMatchObject({
      name: 'ParleyError',
      code: 'agent_failed',
      message: expect.stringContaining('Install another version'),
    })
    rmSync(file())
    await noProcessLeft()
  })

  it('before a prompt: the prompt is not sent until the rules are accepted', async () => {
    const before = world.server.calls.length
    await world.onBench(
      async (bench) => {
        const session = await bench.session()
        await (await session.prompt(modelPrompt('Hello.', { content: 'Hello there.' }))).completed()
        expect(world.server.calls).toHaveLength(before + 1)
        await session.command({ type: 'session.configure', mode: 'plan' })
        writeFileSync(file(), '')
        const refused = await session.prompt(modelPrompt('Write it.', bash('echo once > note.txt'), done))
        const end = await refused.ended()
        expect(end).toMatchObject({ outcome: 'failed', error: { code: 'agent_failed' } })
        expect(end.error?.message).toContain('Install another version')
        expect(world.server.calls).toHaveLength(before + 1)
        rmSync(file())
        await (await session.prompt(modelPrompt('Hello again.', { content: 'Hello there.' }))).completed()
      },
      world.adapter({ executable: world.faulty('rules') }),
    )
    await noProcessLeft()
  })
})

it('rules that another program has added have no effect: the next call needs permission', async () => {
  await world.onBench(async (bench) => {
    const session = await bench.session()
    await (await session.prompt(modelPrompt('Hello.', { content: 'Hello there.' }))).completed()
    const { agentSessionId = '' } = session.all('agent.connected').findLast((one) => one.agentSessionId) ?? {}
    const other = new OpenCodeServer()
    const env = opencodeEnvironment({ url: world.server.url, home: world.home })
    await other.start({ program: opencodeProgram(), env })
    const permission = [{ permission: '*', pattern: '*', action: 'allow' as const }]
    const client = other.client(bench.folder)
    await client.session.update({ sessionID: agentSessionId, permission }, { throwOnError: true })
    await other.end()
    const turn = await session.prompt(modelPrompt('Write it.', bash('echo once > note.txt'), done))
    await turn.decide(await turn.asked(), 'deny')
    await turn.ended()
    expect(() => readFileSync(join(bench.folder, 'note.txt'))).toThrow('ENOENT')
  })
  await noProcessLeft()
})
