import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { documentationSamples, exampleFiles } from './documentation-samples.ts'
import {
  createPackage,
  manifestIn,
  type PackedPackages,
  type PackedProject,
  packageNames,
  packPackages,
} from './packed-packages.ts'
import { oldestNodes, testNode } from './test-nodes.ts'

/**
 * Tests the packages as users get them: built, packed, installed elsewhere, and run by Node without flags.
 */
const oldestZod = '4.0.0'
let packages: PackedPackages
let whole: PackedProject
/** A project without optional dependencies (no Claude program, no pseudo-terminal), and with the oldest allowed zod. */
let slim: PackedProject

beforeAll(() => {
  packages = packPackages()
  whole = packages.install()
  slim = whole.changed(
    '--omit=optional',
    `zod@${oldestZod}`,
    'other-zod@npm:zod@4.1.13',
    '@types/node@24.19.2',
  )
}, 600_000)

afterAll(() => packages?.remove(), 600_000)

const inNode = (source: string) => whole.run(process.execPath, ['--input-type=module', '-e', source]).trim()

it('the packed program runs', () => {
  expect(whole.run('npx', ['parley', '--version']).trim()).toMatch(/^\d+\.\d+\.\d+$/)
  const said = whole.run('npx', ['parley', 'run', 'demo', 'help'])
  expect(said).toContain('asks for permission before it does something')
})

it('the packed library can be imported', () => {
  const source = `
    import { createHost, builtInAdapters, createMemoryStore } from '@parley/server'
    const host = await createHost({ adapters: builtInAdapters(), store: createMemoryStore() })
    const { id } = await host.create({ agent: 'demo', cwd: '.' })
    console.log((await host.state(id)).agent)
    await host.close()`
  expect(inNode(source)).toBe('demo')
})

it('the packed client and protocol can be imported, with their documents', () => {
  const source = `
    import { createClient } from '@parley/client'
    import { emptyView } from '@parley/protocol'
    import openapi from '@parley/protocol/openapi.json' with { type: 'json' }
    import schema from '@parley/protocol/schema.json' with { type: 'json' }
    console.log(typeof createClient, emptyView('a').state.id, openapi.openapi, Object.keys(schema.$defs).length)`
  expect(inNode(source)).toMatch(/^function a 3\.1\.0 \d+$/)
})

it('authors of adapters and tests can import what they need without the optional peers of the contract suites', () => {
  const source = `
    import { createAcpAdapter } from '@parley/server'
    import { createHostToolServer, startHostToolServer } from '@parley/adapter-kit/host-tool-server'
    import { createOutputQueue } from '@parley/adapter-kit/output-queue'
    import { adapterContract, createScriptedAdapter, startModelServer, storeContract } from '@parley/server/testing'
    const refusalOf = async (call) => { try { await call() } catch ({ code, message }) { return code + ': ' + message } }
    console.log(JSON.stringify([
      [createAcpAdapter, createHostToolServer, createOutputQueue, startHostToolServer].map((made) => typeof made),
      createScriptedAdapter({}).id,
      await refusalOf(() => adapterContract('mine', {})),
      await refusalOf(() => storeContract('mine', {})),
      await refusalOf(() => startModelServer()),
    ]))`
  const needs = (name: string) =>
    `not_supported: This part of @parley/server/testing needs ${name}: npm install --save-dev ${name}`
  expect(JSON.parse(inNode(source))).toEqual([
    ['function', 'function', 'function', 'function'],
    'scripted',
    needs('vitest'),
    needs('vitest'),
    needs('@copilotkit/aimock'),
  ])
})

it('npm create parley-adapter makes an adapter that passes its contract test and runs under parley', () => {
  const create = (...args: string[]) =>
    whole.run('npm', [
      'exec',
      '--yes',
      '--package',
      packages.fileOf(createPackage),
      '--',
      createPackage,
      ...args,
    ])
  onTestFinished(() => {
    for (const name of ['tiny-agent', 'unpacked'])
      rmSync(join(whole.folder, name), { recursive: true, force: true })
  })
  expect(create('tiny-agent')).toContain('{ "adapters": ["')
  const made = whole.inside('tiny-agent')
  expect(made.run('npm', ['test'])).toMatch(/^# fail 0$|^ℹ fail 0$/m)

  mkdirSync(join(made.folder, 'data'))
  writeFileSync(join(made.folder, 'data/config.json'), JSON.stringify({ adapters: [made.folder] }))
  const prompt = 'write "Parsley." to herb.txt'
  const said = made.run('npx', ['parley', 'run', 'tiny-agent', prompt, '--on-permission', 'allow'])
  expect(said).toContain('The change was completed.')
  expect(readFileSync(join(made.folder, 'herb.txt'), 'utf8')).toBe('Parsley.')
  // A checkout runs with a condition that leads to files that the packed packages do not contain.
  const checkout = ['--conditions=source', join(import.meta.dirname, '../../packages/server/bin/parley.js')]
  const examined = made.run(process.execPath, [...checkout, 'agents', 'doctor', 'tiny-agent'])
  expect(examined).toMatch(/^ok +start +.*\n(.*\n)*ok +end +/m)

  const program = join(whole.folder, 'unpacked/package/bin/create-parley-adapter.js')
  mkdirSync(join(whole.folder, 'unpacked'))
  whole.run('tar', ['-xzf', packages.fileOf(createPackage), '-C', 'unpacked'])
  const refused = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
      cwd: whole.folder,
      encoding: 'utf8',
    })
    return [status, stdout, stderr]
  }
  const message = (words: string) =>
    expect.stringMatching(new RegExp(`^create-parley-adapter: .*${words}.*\\n$`))
  const before = readFileSync(join(made.folder, 'package.json'), 'utf8')
  expect(refused('tiny-agent')).toEqual([2, '', message('exists already, and is not changed')])
  expect(readFileSync(join(made.folder, 'package.json'), 'utf8')).toBe(before)
  expect(refused('Tiny Agent')).toEqual([2, '', message('cannot be the id of an agent')])
  expect(refused('--force', 'x')).toEqual([2, '', message('Unknown option --force')])
  expect(refused('package.json/x')).toEqual([2, '', message('cannot be made')])
  expect(refused('--help')).toEqual([0, expect.stringMatching(/^Usage: npm create parley-adapter/), ''])
  expect(existsSync(join(whole.folder, 'Tiny Agent'))).toBe(false)
})

describe('with any zod 4', () => {
  const tool = (zod: string) => `
    import { defineTool, type HostTool } from '@parley/server'
    import { z } from '${zod}'
    export const tool: HostTool = defineTool({
      name: 'read_ticket',
      description: 'Gives the text of a ticket.',
      input: z.object({ id: z.string().min(1), times: z.number().int().default(1) }),
      run: ({ id, times }) => (id satisfies string).repeat(times satisfies number),
    })`

  it.each([
    ['4.0.0', () => slim],
    ['the newest 4', () => whole],
  ])('%s, all public types hold, even if the compiler checks the declarations of libraries', (_, project) => {
    const lines = publicEntries().map((entry, index) => `export * as e${index} from '${entry}'`)
    project().link({ react: 'react', '@types/react': '@types/react', '@types/node': '@types/node' })
    const program = { file: 'everything.ts', program: lines.join('\n') }
    expect(lines.length).toBeGreaterThan(9)
    expect(project().checkWhole(program)).toBe('')
  })

  it('has one copy of zod, that of the project', () => {
    const { version } = createRequire(join(slim.folder, '-'))('zod/package.json')
    const found = slim.run('find', ['.', '-path', '*/node_modules/zod', '-type', 'd'])
    expect([version, found]).toEqual([oldestZod, './node_modules/zod\n'])
  })

  it.each(['zod', 'other-zod'])(
    'checks the types of a host tool of %s without comparing two copies',
    (zod) => {
      const { problems, instantiations } = slim.check({ file: 'tool.ts', program: tool(zod) })
      expect(problems).toBe('')
      // If the types of the two copies were compared, this would need 12 million instantiations.
      expect(instantiations).toBeLessThan(50_000)
    },
  )

  it('refuses an input that is not an object at compile time', () => {
    const program = tool('zod').replace(
      'z.object({ id: z.string().min(1), times: z.number().int().default(1) })',
      'z.array(z.string())',
    )
    expect(slim.check({ file: 'tool.ts', program }).problems).toMatch(/^tool\.ts\(7,/)
  })

  it.each(['zod', 'other-zod'])('describes and checks the input of a host tool of %s', (zod) => {
    const program = `${tool(zod)}
      console.log(JSON.stringify([tool.inputSchema, await tool.prepare({ id: 'a' }), await tool.prepare({ id: 7 })]))`
    const args = ['--input-type=module-typescript', '-e', program]
    const [schema, right, wrong] = JSON.parse(slim.run(process.execPath, args))
    expect(schema).toMatchObject({ type: 'object', required: ['id'], properties: { id: { minLength: 1 } } })
    expect(right).toEqual({ input: { id: 'a', times: 1 } })
    expect(wrong).toEqual({
      problem: expect.stringMatching(/^The input of read_ticket is not valid:\n- id: /),
    })
  })
})

it('type-checks every program of the documentation, and the examples, in a strict project', () => {
  const names = [
    'express',
    '@types/express',
    'react',
    '@types/react',
    'vitest',
    'fast-check',
    '@hono/node-server',
    'hono',
  ]
  const telemetry = ['@opentelemetry/api', '@opentelemetry/sdk-trace', '@opentelemetry/sdk-metrics']
  const linked = Object.fromEntries([...names, ...telemetry].map((name) => [name, name]))
  slim.link({ ...linked, ai: 'ai7', ai6: 'ai6', '@ai-sdk/react': 'ai-react7' })
  const samples = documentationSamples()
  expect(samples.length).toBeGreaterThan(12)
  expect(slim.check(electron, ...exampleFiles(), ...samples).problems).toBe('')
})

/** Every import specifier for programs, except the specifier for tests, which needs packages that only tests have. */
function publicEntries(): string[] {
  return packageNames.flatMap((name) => {
    const { exports } = manifestIn(packages.fileOf(name))
    const programs = Object.entries(exports).filter(
      ([path, target]) => typeof target !== 'string' && path !== './testing',
    )
    return programs.map(([path]) => `@parley/${name}${path.slice(1)}`)
  })
}

/** The parts of Electron that the samples use; Electron is not installed here. */
const electron = {
  file: 'electron.d.ts',
  program: `declare module 'electron' {
    type Listener = (event: unknown, ...args: unknown[]) => unknown
    export const app: { getPath(name: string): string }
    export const ipcMain: { handle(channel: string, listener: Listener): void }
    export const ipcRenderer: { invoke(channel: string, ...args: unknown[]): Promise<unknown>; on(channel: string, listener: Listener): void }
    export const contextBridge: { exposeInMainWorld(name: string, api: unknown): void }
    export class BrowserWindow {
      constructor(options: { webPreferences: { preload: string } })
      webContents: { send(channel: string, ...args: unknown[]): void }
    }
  }`,
}

describe('on the oldest Node that each package promises, without optional dependencies', () => {
  const { client, server } = oldestNodes()
  const program = () => join(slim.folder, 'node_modules/@parley/server/bin/parley.js')

  /** A server of the packed program on the oldest Node. */
  async function serving() {
    const args = [program(), 'serve', '--port', '0', '--json']
    const { folder: cwd, env } = slim
    const child = spawn(testNode(server), args, { cwd, env, stdio: ['ignore', 'pipe', 'ignore'] })
    const exited = once(child, 'exit')
    const [line] = await once(createInterface({ input: child.stdout }), 'line')
    return {
      ...(JSON.parse(line) as { url: string; token: string }),
      async [Symbol.asyncDispose]() {
        child.kill('SIGTERM')
        expect(await exited).toEqual([0, null])
      },
    }
  }

  it('runs a turn without a warning from Node', () => {
    const { folder: cwd, env } = slim
    const { stdout, stderr, status } = spawnSync(testNode(server), [program(), 'run', 'demo', 'help'], {
      cwd,
      env,
      encoding: 'utf8',
    })
    expect(status).toBe(0)
    expect(stderr).toMatch(/^completed · .+\n$/)
    expect(stdout).toContain('asks for permission before it does something')
  })

  it('refuses an older Node in one sentence that names the version it needs', () => {
    const { status, stdout, stderr } = spawnSync(testNode(client), [program(), 'run', 'demo', 'help'], {
      encoding: 'utf8',
    })
    expect([status, stdout]).toEqual([1, ''])
    expect(stderr).toBe(
      `parley: this is Node ${client}; Parley needs Node ${Number.parseInt(server, 10)} or newer. Get it from https://nodejs.org\n`,
    )
  })

  it('serves a client on the oldest Node of the client', async () => {
    await using parley = await serving()
    const source = `
      import { createClient } from '@parley/client'
      const client = createClient({ url: process.env.URL, token: process.env.TOKEN })
      const { id } = await client.createSession({ agent: 'demo', cwd: process.cwd() })
      await client.prompt(id, 'show a permission')
      for await (const event of client.events(id)) {
        if (event.type === 'permission.requested') await client.decide(id, event.requestId, 'allow')
        if (event.type === 'turn.ended') { console.log(event.outcome); break }
      }
      client.close()`
    const args = ['--input-type=module', '-e', source]
    expect(slim.run(testNode(client), args, { URL: parley.url, TOKEN: parley.token })).toBe('completed\n')
  })

  it('refuses a terminal with the package to install', async () => {
    await using parley = await serving()
    const headers = { authorization: `Bearer ${parley.token}`, 'content-type': 'application/json' }
    const post = (path: string, body: unknown) =>
      fetch(`${parley.url}/api/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    const { id } = await (await post('sessions', { agent: 'demo', cwd: slim.folder })).json()
    const refused = await post(`sessions/${id}/terminals`, { cols: 80, rows: 24 })
    expect(await refused.json()).toMatchObject({
      error: {
        code: 'not_supported',
        message: expect.stringContaining('npm install --include=optional'),
        details: { package: `@lydell/node-pty-${process.platform}-${process.arch}` },
      },
    })
    const described = await fetch(`${parley.url}/api/openapi.json`, { headers })
    expect(await described.json()).toMatchObject({ paths: { '/api/sessions': { post: {} } } })
    const listed = await fetch(`${parley.url}/api/sessions/${id}/terminals`, { headers })
    expect(await listed.json()).toEqual({ terminals: [] })
  })
})
