import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PermissionMode, SessionEvent, SessionOptions } from '@parley/protocol'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Host } from '../../core/index.ts'
import { createHost } from '../../index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { AgentHome } from '../../testing/agent-home.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import type { ModelAnswer } from '../../testing/model-server.ts'
import { TestReader } from '../../testing/reader.ts'
import { createClaudeAdapter } from './index.ts'
import { billingOf, credentialOf } from './introduction.ts'

/** A home with a hook of the person, and folders with everything that Claude Code can load from a folder. */
const home = await AgentHome.forFile()
const ownHook = join(home.path, 'own-hook')
const config = join(home.path, '.claude')
beforeAll(() => {
  mkdirSync(config)
  writeJson(join(config, 'settings.json'), {
    enableAllProjectMcpServers: true,
    hooks: { SessionStart: touching(ownHook) },
  })
})

const writeJson = (file: string, value: unknown) => writeFileSync(file, JSON.stringify(value))
const touching = (file: string) => [{ hooks: [{ type: 'command', command: `touch '${file}'` }] }]
const markers = ['start-hook', 'tool-hook', 'local-hook', 'touched'] as const
const memory = 'Parsley is the word of this folder.'

function folder(): string {
  const cwd = home.folder('folder')
  mkdirSync(join(cwd, '.claude', 'commands'), { recursive: true })
  writeJson(join(cwd, '.claude', 'settings.json'), {
    permissions: { allow: ['Bash(touch:*)', 'mcp__folder__say'] },
    hooks: {
      SessionStart: touching(join(cwd, 'start-hook')),
      PreToolUse: touching(join(cwd, 'tool-hook')),
    },
  })
  writeJson(join(cwd, '.claude', 'settings.local.json'), {
    hooks: { UserPromptSubmit: touching(join(cwd, 'local-hook')) },
  })
  const echo = new URL('../../testing/mcp-echo.ts', import.meta.url).pathname
  writeJson(join(cwd, '.mcp.json'), {
    mcpServers: { folder: { command: process.execPath, args: ['--conditions=source', echo] } },
  })
  writeFileSync(join(cwd, '.claude', 'commands', 'of-the-folder.md'), 'Do it.')
  writeFileSync(join(cwd, 'CLAUDE.md'), memory)
  return cwd
}

const call = (name: string, id: string, input: unknown) => ({ name, id, arguments: JSON.stringify(input) })
const touch = call('Bash', 'toolu_touch', { command: 'touch touched', description: 'touch' })
const say = call('mcp__folder__say', 'toolu_say', { words: 'parsley' })
const done: ModelAnswer = { content: 'I tried.' }
const prompt = modelPrompt('Try both.', { toolCalls: [touch] }, { toolCalls: [say] }, done)

async function claudeHost(env: Record<string, string> = {}, userSettings?: boolean): Promise<Host> {
  const own = home.env('claude')
  const host = await createHost({
    adapters: [
      createClaudeAdapter({ env: { ...own, ...env }, ...(userSettings !== undefined && { userSettings }) }),
    ],
    store: createMemoryStore(),
  })
  onTestFinished(() => host.close())
  return host
}

async function follow(
  host: Host,
  cwd: string,
  mode: PermissionMode = 'ask',
  options: SessionOptions = {},
): Promise<TestReader> {
  const { id } = await host.create({ agent: 'claude', cwd, mode, options })
  const reader = new TestReader(id)
  await reader.follow(host)
  return reader
}

/** Runs one turn in which the person denies every request, and returns its effects. */
async function play(host: Host, reader: TestReader, cwd: string, text = prompt) {
  for (const name of markers) rmSync(join(cwd, name), { force: true })
  rmSync(ownHook, { force: true })
  const { seq, turns } = reader.view.state
  const calls = home.model.calls.length
  await host.command(reader.sessionId, { type: 'prompt.submit', commandId: `prompt-${seq}`, text })
  for (;;) {
    await reader.until(({ state }) => state.requests.length > 0 || state.turns > turns)
    const [request] = reader.view.state.requests
    if (!request) break
    const { requestId } = request
    await host.command(reader.sessionId, {
      type: 'permission.decide',
      commandId: `no-${requestId}`,
      requestId,
      decision: 'deny',
    })
    await reader.until(({ state }) => !state.requests.some((open) => open.requestId === requestId))
  }
  const { events } = await host.read(reader.sessionId, { after: seq, limit: 1000 })
  const said = events.map(({ json }) => JSON.parse(json) as SessionEvent)
  const { connection } = reader.view.state
  return {
    asked: said.flatMap((event) => (event.type === 'permission.requested' ? [event.tool] : [])),
    ends: said.flatMap((event) => (event.type === 'tool-call.ended' ? [event.outcome] : [])),
    ownHook: existsSync(ownHook),
    markers: markers.filter((name) => existsSync(join(cwd, name))),
    servers: connection?.mcpServers?.map(({ name, status }) => `${name} ${status}`),
    command: connection?.commands?.some(({ name }) => name === 'of-the-folder'),
    memory: home.model.calls.slice(calls).some(({ body }) => JSON.stringify(body).includes(memory)),
    loaded: connection?.loaded,
    trusted: (await host.detail(reader.sessionId, 0)).trusted,
  }
}

const noneLoaded = {
  asked: ['Bash'],
  ends: ['denied', 'failed'],
  ownHook: true,
  markers: [],
  servers: [],
  command: false,
  memory: false,
  loaded: ['user'],
  trusted: false,
}
const everything = {
  asked: [],
  ends: ['completed', 'completed'],
  ownHook: true,
  markers: [...markers],
  servers: ['folder connected'],
  command: true,
  memory: true,
  loaded: ['user', 'project', 'local'],
  trusted: true,
}

describe('the settings, hooks and servers of a folder', () => {
  it('have no effect until the folder is trusted, then full effect, and no effect once trust is revoked', async () => {
    const cwd = folder()
    const host = await claudeHost()
    const reader = await follow(host, cwd)
    expect(await play(host, reader, cwd)).toEqual(noneLoaded)
    await host.trust(cwd)
    await reader.until(({ state }) => !state.connected)
    expect(await play(host, reader, cwd)).toEqual(everything)
    await host.distrust(cwd)
    await reader.until(({ state }) => !state.connected)
    // A conversation keeps its messages, including the text of CLAUDE.md.
    expect(await play(host, reader, cwd)).toEqual({ ...noneLoaded, memory: true })
    expect(await play(host, await follow(host, cwd), cwd)).toEqual(noneLoaded)
    const ownTrust = JSON.parse(readFileSync(join(config, '.claude.json'), 'utf8'))
    expect(ownTrust.projects?.[cwd]?.hasTrustDialogAccepted ?? false).toBe(false)
  })

  it('have no effect if the folder is trusted only in Claude Code itself', async () => {
    const cwd = folder()
    const file = join(config, '.claude.json')
    const before = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
    const projects = { ...before.projects, [cwd]: { hasTrustDialogAccepted: true } }
    writeJson(file, { ...before, projects })
    const host = await claudeHost()
    expect(await play(host, await follow(host, cwd), cwd)).toEqual(noneLoaded)
  })

  it('take effect in a subfolder of a trusted folder', async () => {
    const cwd = folder()
    const host = await claudeHost()
    await host.trust(home.path)
    expect(await play(host, await follow(host, cwd), cwd)).toEqual(everything)
  })

  it('can add folders to work in', async () => {
    const [cwd, other] = [folder(), home.folder('other')]
    writeJson(join(cwd, '.claude', 'settings.json'), { permissions: { additionalDirectories: [other] } })
    const host = await claudeHost()
    const reader = await follow(host, cwd, 'accept-edits')
    const write = call('Write', 'toolu_write', { file_path: join(other, 'a.txt'), content: 'a' })
    const text = modelPrompt('Write.', { toolCalls: [write] }, done)
    expect(await play(host, reader, cwd, text)).toMatchObject({ asked: ['Write'] })
    await host.trust(cwd)
    expect(await play(host, reader, cwd, text)).toMatchObject({ asked: [] })
  })

  it('can add a link that leads out of the folder: a person is asked about changes there', async () => {
    const [cwd, other] = [folder(), home.folder('other')]
    symlinkSync(other, join(cwd, 'link'))
    const host = await claudeHost()
    const reader = await follow(host, cwd, 'accept-edits')
    const write = call('Write', 'toolu_write', { file_path: join(cwd, 'link/a.txt'), content: 'a' })
    const text = modelPrompt('Write.', { toolCalls: [write] }, done)
    expect(await play(host, reader, cwd, text)).toMatchObject({ asked: ['Write'], ends: ['denied'] })
    expect(existsSync(join(other, 'a.txt'))).toBe(false)
  })

  it('do no harm when they cannot be parsed', async () => {
    const cwd = folder()
    const settings = join(cwd, '.claude', 'settings.json')
    writeJson(settings, {
      permissions: { allow: [7, '', 'Bash(', 'Bash(touch:*)'], additionalDirectories: 7 },
    })
    writeFileSync(join(cwd, '.claude', 'settings.local.json'), '{ not JSON')
    const host = await claudeHost()
    await host.trust(cwd)
    const reader = await follow(host, cwd)
    expect(await play(host, reader, cwd)).toMatchObject({ ownHook: true, trusted: true, asked: [say.name] })
    expect(reader.view.state.lastTurn?.outcome).toBe('completed')
  })
})

describe('the settings of the person', () => {
  it('are not loaded in a session that excludes them, and are loaded once it includes them', async () => {
    const cwd = folder()
    const host = await claudeHost()
    const reader = await follow(host, cwd, 'ask', { userSettings: false })
    expect(await play(host, reader, cwd)).toEqual({ ...noneLoaded, ownHook: false, loaded: [] })
    const configure = { type: 'session.configure' as const, options: { userSettings: true } }
    await host.command(reader.sessionId, { commandId: 'with-settings', ...configure })
    expect(await play(host, reader, cwd)).toEqual(noneLoaded)
  })

  it('are not loaded if the configuration excludes them, unless a session requests them', async () => {
    const [one, other] = [folder(), folder()]
    const host = await claudeHost({}, false)
    expect(await play(host, await follow(host, one), one)).toMatchObject({ ownHook: false, loaded: [] })
    const asking = await follow(host, other, 'ask', { userSettings: true })
    expect(await play(host, asking, other)).toMatchObject({ ownHook: true, loaded: ['user'] })
  })

  it('are not loaded in a trusted folder either, although the folder’s own settings are', async () => {
    const cwd = folder()
    const host = await claudeHost()
    await host.trust(cwd)
    const reader = await follow(host, cwd, 'ask', { userSettings: false })
    const own = { ownHook: false, loaded: ['project', 'local'], markers: [...markers] }
    expect(await play(host, reader, cwd)).toMatchObject(own)
  })
})

describe('the credential', () => {
  it.each([
    [{}, 'ANTHROPIC_API_KEY'],
    [{ ANTHROPIC_API_KEY: '', ANTHROPIC_AUTH_TOKEN: 'placeholder' }, 'ANTHROPIC_AUTH_TOKEN'],
  ])('is reported in the session under the name that Claude Code uses', async (env, name) => {
    const host = await claudeHost(env)
    const reader = await follow(host, home.folder('plain'))
    await host.command(reader.sessionId, {
      type: 'prompt.submit',
      commandId: 'hi',
      text: modelPrompt('Hi.', done),
    })
    await reader.until(({ state }) => state.turns === 1 && state.connection?.credential !== undefined)
    expect(reader.view.state.connection?.credential).toBe(name)
    expect(reader.view.state.lastTurn?.notionalCost).toBeUndefined()
  })

  it.each([
    [{ apiProvider: 'bedrock' }, 'Amazon Bedrock', 'cloud'],
    [{ apiProvider: 'gateway' }, 'a gateway', undefined],
    [
      { apiProvider: 'firstParty', subscriptionType: 'Claude Max', email: 'x@y' },
      'Claude Max sign-in',
      'subscription',
    ],
    [{ apiProvider: 'firstParty', tokenSource: 'claude.ai' }, 'Claude sign-in', 'subscription'],
    [{ tokenSource: 'CLAUDE_CODE_OAUTH_TOKEN' }, 'CLAUDE_CODE_OAUTH_TOKEN', 'subscription'],
    [{ tokenSource: 'ANTHROPIC_AUTH_TOKEN' }, 'ANTHROPIC_AUTH_TOKEN', undefined],
    [{ apiKeySource: '/login managed key', tokenSource: 'none' }, 'Claude Console key', 'api-key'],
    [{ apiKeySource: 'apiKeyHelper', subscriptionType: 'Claude Pro' }, 'apiKeyHelper', 'api-key'],
    [{ apiKeySource: 'none', tokenSource: 'none' }, undefined, undefined],
    [undefined, undefined, undefined],
  ] as const)('of %j is %s, billed by %s, without the identity of the account', (account, words, billing) => {
    expect(credentialOf(account)).toBe(words)
    expect(billingOf(account)).toBe(billing)
  })
})
