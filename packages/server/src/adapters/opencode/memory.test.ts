import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { OpencodeClient } from '@opencode-ai/sdk/v2/client'
import { BenchSession } from '@parley/adapter-kit/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hostWith, importFrom, importOnce } from '../../testing/imported-conversation.ts'
import { logProblems } from '../../testing/invariants.ts'
import { onePixel } from '../../testing/model-answers.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import { opencodeEnvironment, opencodeProgram } from '../../testing/opencode-environment.ts'
import { createOpenCodeAdapter } from './index.ts'
import { bash, call, done, OpenCodeUnderTest } from './opencode-under-test.ts'
import { OpenCodeServer } from './server.ts'

/** Tests conversations that a person had with OpenCode in a terminal, without Parley. */

const world = await OpenCodeUnderTest.forFile()
const env = opencodeEnvironment({ url: world.server.url, home: world.home })
const adapter = await world.stay()
const serverCount = world.running('opencode serve').length

function project(): string {
  mkdirSync(join(world.home, 'projects'), { recursive: true })
  return realpathSync(mkdtempSync(join(world.home, 'projects', 'project-')))
}

/** Runs OpenCode on a prompt in a new folder and returns the folder. */
async function inTerminal(prompt: string, folder = project(), ...more: readonly string[]): Promise<string> {
  const run = promisify(execFile)(opencodeProgram(), ['run', ...more], {
    cwd: folder,
    env: { ...env, PWD: folder },
  })
  run.child.stdin?.end(prompt)
  await run
  return folder
}

it('a conversation of the terminal program is listed, imported once, and resumed', {
  timeout: 240_000,
}, async () => {
  const look = { reasoning: 'Herbs.', ...bash('echo parsley') }
  const usage = { prompt_tokens: 120, completion_tokens: 30 }
  const folder = await inTerminal(
    modelPrompt('Look at the herbs.', look, { content: 'I see parsley.', usage }),
    project(),
    '--title',
    'The herbs',
  )
  await using host = await hostWith(adapter)
  const found = await host.conversations('opencode', { cwd: folder })
  expect(found).toMatchObject([{ cwd: folder, title: 'The herbs' }])
  expect(await host.conversations('opencode', { cwd: world.home })).toEqual([])

  const { state, agentSessionId, log, all } = await importOnce(host, 'opencode', folder)
  expect(log.map(({ type }) => type)).toEqual([
    'session.created',
    'agent.connected',
    'prompt.submitted',
    'turn.started',
    'session.configured',
    'thinking.written',
    'tool-call.called',
    'tool-call.ended',
    'usage.measured',
    'text.written',
    'usage.measured',
    'turn.ended',
    'agent.disconnected',
  ])
  expect(all('tool-call.called')).toMatchObject([{ name: 'bash', input: { command: 'echo parsley' } }])
  expect(all('tool-call.ended')).toMatchObject([
    { outcome: 'completed', content: [{ type: 'terminal', output: 'parsley\n', exitCode: 0 }] },
  ])
  expect(all('text.written')).toMatchObject([{ text: 'I see parsley.' }])
  expect(all('usage.measured').at(-1)).toMatchObject({ context: { used: 150 } })
  expect(all('turn.ended')).toMatchObject([{ outcome: 'completed' }])
  const ofTurn = log.slice(2, -1).map(({ at }) => at)
  expect(ofTurn).toEqual(ofTurn.toSorted((a, b) => a - b))
  const { terminal } = await host.detail(state.id, 10)
  expect(terminal).toEqual([expect.stringMatching(/(^|\/)opencode$/), '--session', agentSessionId])

  const session = await BenchSession.follow(() => host, state.id)
  const turn = await session.prompt(modelPrompt('What was it?', { say: 'history' }))
  await turn.completed()
  expect(turn.said).toContain('Look at the herbs.')
  expect(logProblems(session.events)).toEqual([])

  await inTerminal(modelPrompt('Goodbye.', { content: 'Goodbye.' }), folder, '--session', agentSessionId)
  const more = await session.prompt(modelPrompt('And then?', { say: 'history' }))
  await more.completed()
  expect(more.said).toContain('Goodbye.')
})

describe('a conversation of the terminal program', () => {
  let opencode: OpenCodeServer
  beforeAll(async () => {
    opencode = new OpenCodeServer()
    await opencode.start({ program: opencodeProgram(), env })
  })
  afterAll(() => opencode.end())
  const thrown = { throwOnError: true } as const
  type Parts = NonNullable<Parameters<OpencodeClient['session']['prompt']>[0]['parts']>

  async function begun() {
    const folder = project()
    const client = opencode.client(folder)
    const { data } = await client.session.create({}, thrown)
    const sessionID = data.id
    const say = async (words: string, ...more: Parts) =>
      (await client.session.prompt({ sessionID, parts: [{ type: 'text', text: words }, ...more] }, thrown))
        .data
    return { folder, client, sessionID, say }
  }

  it('keeps images and files of prompts, and leaves out text that OpenCode itself adds', async () => {
    const { folder, say } = await begun()
    const paths = [join(folder, 'herbs.txt'), join(world.home, 'elsewhere.txt')]
    for (const path of paths) writeFileSync(path, 'parsley and sage')
    const files = paths.map((path) => ({ type: 'file', mime: 'text/plain', url: `file://${path}` }) as const)
    const image = { type: 'file', mime: 'image/png', url: `data:image/png;base64,${onePixel}` } as const
    await say(modelPrompt('Look.', { content: 'A dot.' }), image, ...files)
    await using host = await hostWith(adapter)
    const { all } = await importFrom(host, 'opencode', folder)
    expect(all('prompt.submitted').map(({ parts }) => parts)).toEqual([
      [
        { type: 'text', text: expect.stringMatching(/^Look\./) },
        { type: 'image', mimeType: 'image/png', data: onePixel },
        { type: 'file', name: 'herbs.txt', mimeType: 'text/plain', path: 'herbs.txt' },
        { type: 'text', text: `[file: file://${paths[1]}]` },
      ],
    ])
  })

  it('includes subagents under their calls, not as conversations of their own', async () => {
    const { folder, say } = await begun()
    const task = { description: 'look', subagent_type: 'general', prompt: 'Say what you see.' }
    await say(modelPrompt('Delegate.', call('task', task), { content: 'Delegated.' }))
    await using host = await hostWith(adapter)
    expect(await host.conversations('opencode', { cwd: folder })).toHaveLength(1)
    const { all, log } = await importFrom(host, 'opencode', folder)
    const [called] = all('tool-call.called')
    expect(called).toMatchObject({ name: 'task', kind: 'subagent' })
    expect(all('text.written')).toMatchObject([
      { text: 'There is nothing more to say.', parentToolCallId: called?.toolCallId },
      { text: 'Delegated.' },
    ])
    const types = log.map(({ type }) => type)
    expect(types.indexOf('text.written')).toBeLessThan(types.indexOf('tool-call.ended'))
    expect(all('turn.ended')).toMatchObject([{ outcome: 'completed' }])
  })

  it('keeps plans, shell commands, failures and interruptions', async () => {
    const { folder, client, sessionID, say } = await begun()
    const todos = [{ content: 'First this', status: 'in_progress', priority: 'high' }]
    await client.session.shell({ sessionID, agent: 'build', command: 'echo sage' }, thrown)
    await say(modelPrompt('Plan.', call('todowrite', { todos }), bash('exit 3'), done))
    const failing = { error: { message: 'no such model', type: 'invalid_request_error' }, status: 400 }
    await say(modelPrompt('Fail.', failing))
    const waiting = say(modelPrompt('Wait.', bash('tail -f /dev/null'), done))
    await expect.poll(() => world.running('tail -f /dev/null'), { timeout: 30_000 }).not.toEqual([])
    await client.session.abort({ sessionID }, thrown)
    await waiting
    await using host = await hostWith(adapter)
    const { all } = await importFrom(host, 'opencode', folder)
    expect(all('prompt.submitted').map(({ parts: [part] }) => part)).toMatchObject([
      { type: 'text', text: '!echo sage' },
      { type: 'text', text: expect.stringMatching(/^Plan\./) },
      { type: 'text', text: expect.stringMatching(/^Fail\./) },
      { type: 'text', text: expect.stringMatching(/^Wait\./) },
    ])
    expect(all('plan.updated')).toMatchObject([{ entries: [{ text: 'First this', status: 'in-progress' }] }])
    expect(all('tool-call.ended').map(({ outcome }) => outcome)).toEqual([
      'completed',
      'completed',
      'failed',
      'cancelled',
    ])
    expect(all('turn.ended')).toMatchObject([
      { outcome: 'completed' },
      { outcome: 'completed' },
      { outcome: 'failed', error: { message: expect.stringContaining('no such model') } },
      { outcome: 'cancelled' },
    ])
  })

  it('keeps a compaction, and leaves out reverted messages', async () => {
    const { folder, client, sessionID, say } = await begun()
    await say(modelPrompt('Hello.', { content: 'Hello there.' }))
    await client.session.summarize({ sessionID, providerID: 'mock', modelID: 'm1' }, thrown)
    const { info } = await say('Take me back.')
    const messageID = info.role === 'assistant' ? info.parentID : ''
    await client.session.revert({ sessionID, messageID }, thrown)
    await using host = await hostWith(adapter)
    const { all } = await importFrom(host, 'opencode', folder)
    expect(all('prompt.submitted').map(({ parts: [part] }) => part)).toMatchObject([
      { type: 'text', text: expect.stringMatching(/^Hello\./) },
      { type: 'command', name: 'compact' },
    ])
    expect(all('context.compacted')).toMatchObject([{ trigger: 'manual' }])
    expect(all('turn.ended')).toMatchObject([{ outcome: 'completed' }, { outcome: 'completed' }])
  })

  it('is not listed if it is empty or archived', async () => {
    const { folder, client, sessionID, say } = await begun()
    await using host = await hostWith(adapter)
    expect(await host.conversations('opencode', { cwd: folder })).toEqual([])
    await say(modelPrompt('Put me away.', { content: 'Gladly.' }))
    expect(await host.conversations('opencode', { cwd: folder })).toHaveLength(1)
    await client.session.update({ sessionID, time: { archived: Date.now() } }, thrown)
    expect(await host.conversations('opencode', { cwd: folder })).toEqual([])
    const refused = host.importConversation({ agent: 'opencode', agentSessionId: sessionID })
    await expect(refused).rejects.toMatchObject({ code: 'not_found' })
  })

  it('that OpenCode cannot return is refused with the reason', async () => {
    const { client, sessionID } = await begun()
    const format = { type: 'json_schema', schema: { type: 'object', properties: {} } } as const
    const text = modelPrompt('Count.', call('StructuredOutput', {}))
    await client.session.prompt({ sessionID, parts: [{ type: 'text', text }], format }, thrown)
    await using host = await hostWith(adapter)
    const refused = host.importConversation({ agent: 'opencode', agentSessionId: sessionID })
    await expect(refused).rejects.toMatchObject({
      code: 'agent_failed',
      message: expect.stringContaining('structured output'),
    })
  })
})

it('a server is started to list conversations, and ended afterwards', async () => {
  const own = world.adapter()
  expect(await own.conversations?.list({ cwd: world.home }, AbortSignal.timeout(60_000))).toEqual([])
  await expect.poll(() => world.running('opencode serve').length, { timeout: 30_000 }).toBe(serverCount)
})

it('an unknown conversation, a missing program and an abort are refused', async () => {
  const unknown = adapter.conversations?.read('ses_nobody', AbortSignal.timeout(30_000))
  await expect(Array.fromAsync(unknown ?? [])).rejects.toMatchObject({ code: 'not_found' })
  const none = createOpenCodeAdapter({ env: { PATH: world.home, HOME: world.home } })
  const listed = none.conversations?.list({}, AbortSignal.timeout(30_000))
  await expect(listed).rejects.toMatchObject({ code: 'agent_not_found' })
  const stopped = adapter.conversations?.list({}, AbortSignal.abort())
  await expect(stopped).rejects.toMatchObject({ code: 'cancelled' })
})
