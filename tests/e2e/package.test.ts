import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'

/** The packages as strangers get them: built, packed, installed elsewhere, run by a plain node. */
const root = resolve(import.meta.dirname, '../..')
const project = mkdtempSync(join(tmpdir(), 'parley-package-'))
const env = {
  ...process.env,
  HOME: project,
  PARLEY_DATA_DIR: join(project, 'data'),
  PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
  npm_config_cache: process.env.npm_config_cache ?? join(process.env.HOME ?? project, '.npm'),
}

function run(program: string, args: string[], cwd = project): string {
  return execFileSync(program, args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

function inNode(source: string): string {
  return run(process.execPath, ['--input-type=module', '-e', source]).trim()
}

beforeAll(() => {
  run('npm', ['run', 'build'], root)
  for (const name of ['protocol', 'client', 'server']) {
    run('npm', ['pack', '--pack-destination', project, '-w', `packages/${name}`], root)
  }
  const packed = readdirSync(project).filter((name) => name.endsWith('.tgz'))
  writeFileSync(join(project, 'package.json'), '{ "name": "stranger", "private": true, "type": "module" }')
  run('npm', ['install', '--no-audit', '--no-fund', ...packed.map((name) => `./${name}`)])
}, 300_000)

afterAll(() => rmSync(project, { recursive: true, force: true }))

it('runs the program', () => {
  expect(run('npx', ['parley', '--version']).trim()).toMatch(/^\d+\.\d+\.\d+$/)
  const said = run('npx', ['parley', 'run', 'demo', 'help'])
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
  const files = run('tar', ['tzf', readdirSync(project).find((name) => name.includes('server'))!])
  expect(files).not.toMatch(/\.test\.|\/src\//)
})
