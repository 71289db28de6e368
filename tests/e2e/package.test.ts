import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type PackedPackages, type PackedProject, packPackages } from './packed-packages.ts'
import { oldestNodes, testNode } from './test-nodes.ts'

/** The packages as strangers get them: built, packed, installed elsewhere, run by a plain node. */
let packages: PackedPackages
let whole: PackedProject
/** Without optional dependencies: no program of Claude's, no pseudo-terminal. */
let slim: PackedProject

beforeAll(() => {
  packages = packPackages()
  whole = packages.install()
  slim = packages.install('--omit=optional')
}, 600_000)

afterAll(() => packages?.remove())

const inNode = (source: string) => whole.run(process.execPath, ['--input-type=module', '-e', source]).trim()

it('runs the program', () => {
  expect(whole.run('npx', ['parley', '--version']).trim()).toMatch(/^\d+\.\d+\.\d+$/)
  const said = whole.run('npx', ['parley', 'run', 'demo', 'help'])
  expect(said).toContain('asks for permission before it does something')
})

it('opens the library', () => {
  const source = `
    import { createHost, builtInAdapters, createMemoryStore } from '@parley/server'
    const host = await createHost({ adapters: builtInAdapters(), store: createMemoryStore() })
    const { id } = await host.create({ agent: 'demo', cwd: '.' })
    console.log((await host.state(id)).agent)
    await host.close()`
  expect(inNode(source)).toBe('demo')
})

it('loads the client and the protocol, with its documents', () => {
  const source = `
    import { createClient } from '@parley/client'
    import { emptyView } from '@parley/protocol'
    import openapi from '@parley/protocol/openapi.json' with { type: 'json' }
    import schema from '@parley/protocol/schema.json' with { type: 'json' }
    console.log(typeof createClient, emptyView('a').state.id, openapi.openapi, Object.keys(schema.$defs).length)`
  expect(inNode(source)).toMatch(/^function a 3\.1\.0 \d+$/)
})

it('packs no source, no test and no folder of this machine', () => {
  const files = execFileSync('tar', ['tzf', packages.fileOf('server')], { encoding: 'utf8' })
  expect(files).not.toMatch(/\.test\.|\/src\//)
})

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

  it('runs a turn of the program without a warning by Node', () => {
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
    const listed = await fetch(`${parley.url}/api/sessions/${id}/terminals`, { headers })
    expect(await listed.json()).toEqual({ terminals: [] })
  })
})
