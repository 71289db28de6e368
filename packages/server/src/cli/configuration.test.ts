import { ParleyError } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { parseConfigFile } from './config-file.ts'
import { type ConfigurationSources, resolveConfiguration } from './configuration.ts'

const resolved = (given: Partial<ConfigurationSources> = {}) =>
  resolveConfiguration({
    flags: {},
    env: {},
    home: '/home/ada',
    cwd: '/somewhere',
    readConfig: () => ({}),
    readToken: (file) => `token-from-${file}`,
    ...given,
  })

const refusal = (work: () => unknown): ParleyError => {
  try {
    work()
  } catch (thrown) {
    if (thrown instanceof ParleyError) return thrown
    throw thrown
  }
  throw new Error('was not refused')
}

describe('a setting', () => {
  it('has its default value if it is not set', () => {
    expect(resolved()).toEqual({
      dataDir: '/home/ada/.parley',
      host: '127.0.0.1',
      port: 4747,
      allowRemote: false,
      allowedOrigins: [],
      allowedHosts: [],
      trustedProxies: [],
      allowInsecure: false,
      limits: {},
      agents: {},
      chat: {},
      telemetry: {},
      alerts: {},
    })
  })

  it('for the retention of sessions comes from config.json alone, and is off by default', () => {
    const retention = { archiveAfter: '12h', deleteAfter: '180d' }
    const expected = { archiveAfter: 43_200_000, deleteAfter: 15_552_000_000 }
    expect(resolved({ readConfig: () => ({ retention }) }).retention).toEqual(expected)
    expect(resolved({ readConfig: () => ({ retention: {} }) }).retention).toBeUndefined()
  })

  it('for new chats comes from config.json alone', () => {
    const chat = { agent: 'claude', cwd: '/code/app', mode: 'plan' as const }
    expect(resolved({ readConfig: () => ({ chat }) }).chat).toEqual(chat)
  })

  it('for agents comes from config.json alone: program, arguments, environment', () => {
    const agents = {
      codex: { command: '/opt/codex', env: { CODEX_HOME: '/there' } },
      mine: { command: 'my-agent', args: ['--acp'], name: 'Mine' },
      demo: { disabled: true },
      claude: { disabled: false },
    }
    expect(resolved({ readConfig: () => ({ agents }) }).agents).toEqual({
      codex: { executable: '/opt/codex', env: { CODEX_HOME: '/there' } },
      mine: { executable: 'my-agent', args: ['--acp'], name: 'Mine' },
      demo: { disabled: true },
      claude: {},
    })
  })

  it('comes from the flag, else the environment, else config.json, else the default', () => {
    const readConfig = () => ({
      port: 1,
      host: 'file',
      token: 'file-token-of-mine',
      logLevel: 'error' as const,
    })
    const env = { PARLEY_PORT: '2', PARLEY_HOST: 'env', PARLEY_TOKEN: 'environment-token' }
    expect(resolved({ readConfig })).toMatchObject({ port: 1, host: 'file', logLevel: 'error' })
    expect(resolved({ readConfig, env })).toMatchObject({
      port: 2,
      host: 'env',
      token: { value: 'environment-token', from: 'PARLEY_TOKEN' },
      logLevel: 'error',
    })
    expect(resolved({ readConfig, env, flags: { port: '3', token: 'a-token-that-is-mine' } })).toMatchObject({
      port: 3,
      host: 'env',
      token: { value: 'a-token-that-is-mine', from: '--token' },
    })
  })

  it('is read from the config.json of the chosen data folder', () => {
    const read: string[] = []
    const readConfig = (file: string) => {
      read.push(file)
      return {}
    }
    resolved({ readConfig, env: { PARLEY_DATA_DIR: 'here' } })
    resolved({ readConfig, env: { PARLEY_DATA_DIR: 'here' }, flags: { dataDir: '/there' } })
    expect(read).toEqual(['/somewhere/here/config.json', '/there/config.json'])
  })

  it('is not changed by an empty variable', () => {
    expect(resolved({ env: { PARLEY_PORT: '', PARLEY_TOKEN: '', PARLEY_DATA_DIR: '' } })).toEqual(resolved())
  })
})

describe('an invalid setting is refused', () => {
  it.each(['65536', '-1', 'http', '1e3', '', '4747.5'])('for the port "%s"', (port) => {
    const { code, message } = refusal(() => resolved({ flags: { port } }))
    expect(code).toBe('validation_error')
    expect(message).toContain('--port')
  })

  it('for a variable, with its name', () => {
    expect(refusal(() => resolved({ env: { PARLEY_PORT: 'x' } })).message).toContain('PARLEY_PORT')
    expect(refusal(() => resolved({ env: { PARLEY_LOG_LEVEL: 'loud' } })).message).toContain(
      'PARLEY_LOG_LEVEL',
    )
  })

  it('for a token that is too short, wherever it comes from', () => {
    for (const given of [
      { flags: { token: 'x' } },
      { flags: { token: 'fifteen-letters' } },
      { env: { PARLEY_TOKEN: 'x' } },
      { readConfig: () => ({ token: 'x' }) },
      { flags: { tokenFile: 'short' }, readToken: () => 'x' },
    ]) {
      expect(refusal(() => resolved(given))).toMatchObject({
        code: 'validation_error',
        message: expect.stringContaining('at least 16 characters'),
      })
    }
    const env = { PARLEY_TOKEN_FILE: 'given' }
    expect(resolved({ env }).token).toEqual({
      value: 'token-from-/somewhere/given',
      from: 'PARLEY_TOKEN_FILE',
    })
    expect(resolved({ env: { ...env, PARLEY_TOKEN: 'a-token-of-the-variable' } }).token).toMatchObject({
      from: 'PARLEY_TOKEN',
    })
    expect(resolved({ flags: { tokenFile: 'kept' } }).token).toEqual({
      value: 'token-from-/somewhere/kept',
      from: '--token-file',
    })
  })

  it('for a token that does not fit into a header', () => {
    expect(refusal(() => resolved({ flags: { token: 'a b' } })).code).toBe('validation_error')
    expect(refusal(() => resolved({ flags: { token: '' } })).code).toBe('validation_error')
  })

  it.each([
    'mysql://db/x',
    'postgres://ada:geheim@db',
    'postgres://ada:geheim@db/',
    'geheim',
    'postgres:geheim',
    'postgres://ada:geheim@[/x',
  ])('for the database URL %s, without repeating it', (url) => {
    const { code, message } = refusal(() => resolved({ env: { PARLEY_DATABASE_URL: url } }))
    expect(code).toBe('validation_error')
    expect(message).toContain('PARLEY_DATABASE_URL')
    expect(message).not.toContain('geheim')
    expect(refusal(() => resolved({ flags: { databaseUrl: url } })).message).toContain('--database-url')
  })

  it.each(['10.0.0.1:4747', 'ftp://node', 'http://node/path', 'http://ada:x@node', 'http://node?x', ''])(
    'for the node URL "%s"',
    (nodeUrl) => {
      expect(refusal(() => resolved({ flags: { nodeUrl } })).message).toContain('--node-url takes a URL')
    },
  )

  it.each(['volume:code', 'volume:', 'a b', '', 'x'.repeat(65), 'a:b', 'machine:'])(
    'for the place "%s"',
    (place) => {
      expect(refusal(() => resolved({ flags: { place } })).code).toBe('validation_error')
    },
  )
})

describe('the settings of a node', () => {
  it('come from the flag, else the environment, else config.json', () => {
    const config = { databaseUrl: 'postgres://db/file', nodeUrl: 'http://file', place: 'file' }
    const env = {
      PARLEY_DATABASE_URL: 'postgresql://db/env',
      PARLEY_NODE_URL: 'http://env:1/',
      PARLEY_PLACE: 'env',
    }
    const flags = { databaseUrl: 'postgres:///flag', nodeUrl: 'https://flag', place: 'machine:flag' }
    const readConfig = () => config
    expect(resolved({ readConfig })).toMatchObject({ ...config, place: 'machine:file' })
    expect(resolved({ readConfig, env })).toMatchObject({
      databaseUrl: 'postgresql://db/env',
      nodeUrl: 'http://env:1',
      place: 'machine:env',
    })
    expect(resolved({ readConfig, env, flags })).toMatchObject(flags)
  })
})

describe('config.json', () => {
  const parse = (value: unknown) => parseConfigFile(JSON.stringify(value), '/d/config.json')

  it('is read', () => {
    const config = { port: 0, allowOrigins: ['http://localhost:3000'], limits: { maxConnections: 4 } }
    expect(parse(config)).toEqual(config)
  })

  it('is refused with an unknown key, which is named', () => {
    expect(refusal(() => parse({ prot: 1 })).message).toMatch(/Unknown in \S+config\.json: "prot".*port/)
    expect(refusal(() => parse({ limits: { max: 1 } })).message).toMatch(/"limits\.max".*maxConnections/)
    expect(refusal(() => parse({ chat: { folder: '/' } })).message).toMatch(
      /"chat\.folder".*agent, cwd, mode/,
    )
    expect(refusal(() => parse({ chat: { cwd: 'here' } })).message).toContain(
      'chat.cwd: must be an absolute path',
    )
  })

  it('is refused with an invalid agent, with the reason', () => {
    const agents = (id: string, entry: unknown) => refusal(() => parse({ agents: { [id]: entry } })).message
    expect(agents('codex', { comand: 'x' })).toMatch(/"agents\.codex\.comand".*command, args, disabled/)
    expect(agents('../codex', {})).toMatch(/agents\.\.\.\/codex: must contain only lowercase letters/)
    expect(agents('codex', { command: './codex' })).toMatch(
      /agents\.codex\.command: must be an absolute path/,
    )
    expect(agents('codex', { command: '~/bin/codex' })).toContain('agents.codex.command')
    expect(agents('codex', { env: { 'A B': 'x' } })).toMatch(/A B: not the name of a variable/)
    expect(agents('codex', { env: { A: 1 } })).toContain('agents.codex.env.A')
    expect(agents('codex', { args: 'x' })).toContain('agents.codex.args')
  })

  it('names adapters by package or path, and refuses anything else that Node could import', () => {
    const named = [
      'parley-adapter-a',
      '@me/b',
      './c',
      '../d.mjs',
      '/e',
      { module: './f', options: { fast: true } },
    ]
    expect(parse({ adapters: named }).adapters).toEqual(named)
    expect(resolved({ readConfig: () => ({ adapters: ['./c'] }) }).adapterModules).toEqual([
      { module: './c', options: {} },
    ])
    const others = [
      'data:text/javascript,',
      'https://x/y.js',
      'node:fs',
      '#c',
      'a/b',
      '~/c',
      '-x',
      '.',
      '',
      'A B',
    ]
    for (const module of others)
      for (const one of [module, { module }])
        expect(refusal(() => parse({ adapters: [one] })).message, module).toContain(
          'must be the name of a package',
        )
    expect(refusal(() => parse({ adapters: [{ path: './c' }] })).message).toContain('an object with "module"')
  })

  it('is refused if a value is invalid, with the path of the value, and if it is not JSON', () => {
    expect(refusal(() => parse({ limits: { maxQueue: 'x' } })).message).toContain('limits.maxQueue')
    expect(refusal(() => parse([])).message).toContain('config.json')
    expect(refusal(() => parseConfigFile('{', '/d/config.json')).message).toContain('not JSON')
  })

  it.each([
    '{"databaseUrl": "postgres://ada:geheim@db/x", "port": x}',
    '{"databaseUrl": "postgres://ada:geheim@db/x"',
    '{"databaseUrl": postgres://ada:geheim@db/x}',
    '{"databaseUrl": "postgres://ada:geheim@db/x\n"}',
    `{"databaseUrl": "geheim${'x'.repeat(200)}", }`,
  ])('does not show its secrets if it is not JSON: %s', (text) => {
    const { message, cause } = refusal(() => parseConfigFile(text, '/d/config.json'))
    expect(message).toMatch(/config\.json is not JSON \([^)]+\)+\. Correct/)
    expect(`${message}${cause}`).not.toContain('geheim')
  })
})
