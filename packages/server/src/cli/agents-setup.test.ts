import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '@parley/client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createHome, type Home, type Running } from './program-under-test.ts'

const secret = 'sk-parsley-0123456789'
const agent = new URL('../adapters/acp/faulty-agent-under-test.ts', import.meta.url).pathname

let home: Home
let running: Running
let client: ReturnType<typeof createClient>
let url: string
let token: string
const config = () => join(home.dataDir, 'config.json')
const kept = () => JSON.parse(readFileSync(config(), 'utf8'))

beforeEach(async () => {
  home = createHome()
  mkdirSync(home.dataDir, { recursive: true })
  writeFileSync(config(), JSON.stringify({ logLevel: 'debug', agents: { demo: { name: 'Demo' } } }))
  chmodSync(config(), 0o644)
  ;({ running, url, token } = await home.serve(['--allow-origin', 'http://localhost:3000']))
  client = createClient({ url, token })
})
afterEach(async () => {
  client.close()
  await home[Symbol.asyncDispose]()
})

const infoOf = async (id: string) => (await client.call('listAgents')).agents.find((one) => one.id === id)
const own = { id: 'mine', name: 'Mine', command: process.execPath, args: ['--conditions=source', agent] }

describe('an agent that a person adds', () => {
  it('is added while the server runs, stored for its next start, tested, and removed', async () => {
    const added = await client.call('addAgent', { body: own })
    expect(added).toMatchObject({ id: 'mine', name: 'Mine', added: true, found: true })
    expect(kept()).toEqual({
      logLevel: 'debug',
      agents: { demo: { name: 'Demo' }, mine: { name: 'Mine', command: own.command, args: own.args } },
    })
    expect(statSync(config()).mode & 0o777).toBe(0o600)
    const { checks } = await client.call('testAgent', { params: { id: 'mine' } })
    expect(checks.map(({ name, result }) => `${name} ${result}`)).toEqual(
      expect.arrayContaining(['found ok', 'start ok', 'end ok']),
    )
    expect((await home.run(['agents', '--json'])).stdout).toContain('"id":"mine"')
    await client.call('forgetAgent', { params: { id: 'mine' } })
    expect(await infoOf('mine')).toBeUndefined()
    expect(kept().agents).toEqual({ demo: { name: 'Demo' } })
  })

  it('is refused with an invalid program, id or argument', async () => {
    const refused: [object, string][] = [
      [{ ...own, command: 'no-such-program' }, 'validation_error'],
      [{ ...own, command: './mine' }, 'validation_error'],
      [{ ...own, command: '~/mine' }, 'validation_error'],
      [{ ...own, id: '../mine' }, 'validation_error'],
      [{ ...own, id: 'claude' }, 'conflict'],
      [{ ...own, args: ['a\0b'] }, 'validation_error'],
      [{ ...own, env: { PATH: '/tmp' } }, 'validation_error'],
    ]
    for (const [body, code] of refused) {
      const adding = client.call('addAgent', { body: body as typeof own })
      await expect(adding, JSON.stringify(body)).rejects.toMatchObject({ code })
    }
    expect(Object.keys(kept().agents)).toEqual(['demo'])
  })

  it('can be removed, but not a built-in or an unknown one', async () => {
    const forget = (id: string) => client.call('forgetAgent', { params: { id } })
    await expect(forget('claude')).rejects.toMatchObject({ code: 'not_supported' })
    await expect(forget('nobody')).rejects.toMatchObject({ code: 'agent_not_found' })
  })
})

describe('a key of an agent', () => {
  it('applies at once, is stored for this user only, and is never returned', async () => {
    expect((await infoOf('claude'))?.signedIn).toBe(false)
    const params = { id: 'claude' }
    await client.call('setAgentKey', {
      params,
      body: { variable: 'ANTHROPIC_API_KEY', value: ` ${secret}\n` },
    })
    expect(await infoOf('claude')).toMatchObject({ signedIn: true, keysSet: ['ANTHROPIC_API_KEY'] })
    expect(kept().agents.claude).toEqual({ env: { ANTHROPIC_API_KEY: secret } })
    expect(statSync(config()).mode & 0o777).toBe(0o600)
    expect(JSON.stringify(await client.call('listAgents'))).not.toContain(secret)
    await client.call('removeAgentKey', { params, query: { variable: 'ANTHROPIC_API_KEY' } })
    expect((await infoOf('claude'))?.signedIn).toBe(false)
    running.child.kill('SIGTERM')
    const { stderr } = await running.ended
    expect(stderr).not.toContain(secret)
  })

  it('cannot be a variable that is not a key', async () => {
    await client.call('addAgent', { body: own })
    const refused = [
      ['claude', 'PATH'],
      ['claude', 'OPENAI_API_KEY'],
      ['claude', 'CLAUDE_CONFIG_DIR'],
      ['mine', 'NODE_OPTIONS'],
      ['mine', 'PARLEY_TOKEN'],
    ] as const
    for (const [id, variable] of refused) {
      const setting = client.call('setAgentKey', { params: { id }, body: { variable, value: secret } })
      await expect(setting, variable).rejects.toMatchObject({ code: 'validation_error' })
    }
    expect(readFileSync(config(), 'utf8')).not.toContain(secret)
  })
})

it('agents and keys cannot be changed by pages of other origins, even allowed ones', async () => {
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    origin: 'http://localhost:3000',
  }
  const ask = (path: string, method: string, body?: unknown) =>
    fetch(`${url}/api/agents${path}`, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) })
  const answers = await Promise.all([
    ask('', 'POST', own),
    ask('/demo', 'DELETE'),
    ask('/claude/key', 'POST', { variable: 'ANTHROPIC_API_KEY', value: secret }),
    ask('/claude/key?variable=ANTHROPIC_API_KEY', 'DELETE'),
    ask('/demo/test', 'POST'),
  ])
  expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403])
  expect((await ask('', 'GET')).status).toBe(200)
  expect(Object.keys(kept().agents)).toEqual(['demo'])
})

it('agents and keys can be changed from the terminal, with the key from stdin', async () => {
  const add = ['agents', 'add', 'mine', '--command', own.command, '--', ...own.args]
  expect(await home.run(add)).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('Added mine.') })
  expect(await infoOf('mine')).toMatchObject({ added: true })
  const key = await home.run(['agents', 'key', 'claude'], { input: `${secret}\n` })
  expect(key).toMatchObject({ exitCode: 0, stderr: 'ANTHROPIC_API_KEY is set for claude.\n' })
  expect(await infoOf('claude')).toMatchObject({ keysSet: ['ANTHROPIC_API_KEY'] })
  expect(await home.run(['agents', 'key', 'claude', '--remove'])).toMatchObject({ exitCode: 0 })
  expect(await home.run(['agents', 'key', 'demo'])).toMatchObject({ exitCode: 2 })
  expect(await home.run(['agents', 'forget', 'mine'])).toMatchObject({ exitCode: 0 })
  expect(await infoOf('mine')).toBeUndefined()
})
