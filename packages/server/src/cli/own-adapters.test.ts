import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@parley/client'
import { ParleyError } from '@parley/protocol'
import { describe, expect, it, onTestFinished } from 'vitest'
import { builtInAdapters } from '../adapters/index.ts'
import { folderForTest } from '../testing/temporary-folder.ts'
import { findModule } from './find-module.ts'
import { loadOwnAdapters } from './own-adapters.ts'
import { createHome } from './program-under-test.ts'

/** A module with an adapter. Its agent asks for a permission, and says with which key it was created. */
const tiny = `
export class TinyAdapter {
  #input
  id = 'tiny'
  name = 'Tiny'
  capabilities = { permissions: true, forgotten: true }
  modes = ['ask']
  keys = ['TINY_KEY']
  constructor(input) { this.#input = input }
  async probe() { return { found: true, version: '1.0.0', signedIn: true } }
  async connect({ person }) {
    const { options, env } = this.#input
    const outputs = [{ type: 'agent.connected' }]
    let wake = () => {}
    let isOver = false
    const put = (...more) => { outputs.push(...more); wake() }
    async function* read() {
      for (;;) {
        while (outputs.length > 0) yield outputs.shift()
        if (isOver) return
        await new Promise((resolve) => { wake = resolve })
      }
    }
    const turn = async () => {
      const call = { name: 'Write', kind: 'edit', title: 'a.txt', input: {} }
      put({ type: 'tool-call.called', toolCallId: 'one', ...call })
      const { outcome } = await person.permit({ toolCallId: 'one', tool: call.name, ...call })
      put({ type: 'tool-call.ended', toolCallId: 'one', outcome: outcome === 'allowed' ? 'completed' : 'denied', content: [] })
      put({ type: 'text.written', blockId: 'two', text: options.greeting + ' ' + outcome + ' ' + (env.TINY_KEY ?? 'no key') })
      put({ type: 'turn.ended', outcome: 'completed', stopReason: 'end_turn' })
    }
    return {
      events: read(),
      send: async () => void turn(),
      interrupt: async () => {},
      configure: async () => {},
      close: async () => { isOver = true; wake() },
    }
  }
}
export const createAdapter = (input) => new TinyAdapter(input)
`

/** A package with this entry point, beside its package.json. */
function writePackage(folder: string, text: string, manifest: object = { exports: './entry.mjs' }): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(folder, 'entry.mjs'), text)
}

function configure(dataDir: string, config: object): void {
  mkdirSync(dataDir, { recursive: true })
  writeFileSync(join(dataDir, 'config.json'), JSON.stringify(config))
}

describe('an adapter that config.json names', () => {
  it('is used like a built-in one, with its options and its key', async () => {
    await using home = createHome()
    const { dataDir } = home
    writePackage(join(dataDir, 'adapters/node_modules/parley-adapter-tiny'), tiny)
    const named = { module: 'parley-adapter-tiny', options: { greeting: 'Hello:' } }
    configure(dataDir, { adapters: [named, './missing.mjs'], agents: { tiny: { disabled: false } } })
    const { url, token } = await home.serve()
    using client = createClient({ url, token })
    const { agents, failures } = await client.call('listAgents')
    expect(failures).toEqual([
      { module: './missing.mjs', error: { code: 'not_found', message: expect.stringContaining('no file') } },
    ])
    const listed = agents.find(({ id }) => id === 'tiny')
    expect(listed).toMatchObject({ name: 'Tiny', found: true, module: 'parley-adapter-tiny' })
    expect([listed?.capabilities.permissions, listed?.capabilities.fork]).toEqual([true, false])
    expect(listed?.added).toBeUndefined()

    const body = { variable: 'TINY_KEY', value: 'secret-key' }
    await client.call('setAgentKey', { params: { id: 'tiny' }, body })
    const { id } = await client.createSession({ agent: 'tiny', cwd: home.folder, prompt: 'Write it.' })
    const said: string[] = []
    for await (const event of client.events(id)) {
      if (event.type === 'permission.requested') await client.decide(id, event.requestId, 'allow')
      if (event.type === 'text.written') said.push(event.text)
      if (event.type === 'turn.ended') break
    }
    expect(said).toEqual(['Hello: allowed secret-key'])
    const forget = client.call('forgetAgent', { params: { id: 'tiny' } })
    await expect(forget).rejects.toMatchObject({ code: 'not_supported' })

    const shown = await home.run(['agents', '--capabilities'])
    expect(shown.stdout).toMatch(/^CAPABILITY .*tiny$/m)
    expect(shown.stdout).toMatch(/^permissions .*yes$/m)
    expect(shown.stderr).toContain('The adapter "./missing.mjs" of config.json was not loaded: ')
    const doctor = await home.run(['doctor'])
    expect(doctor.stdout).toMatch(/^ok +agent tiny +1\.0\.0$/m)
    expect(doctor.stdout).toMatch(/^fail adapter \.\/missing\.mjs +The adapter/m)
    const unknown = await home.run(['run', 'missing', 'Hello'])
    expect(unknown.stderr).toContain('An adapter of config.json was not loaded; "parley agents" shows why.')
  })

  it('is examined without a server, and can be hidden', async () => {
    await using home = createHome()
    writePackage(join(home.dataDir, 'tiny'), tiny)
    configure(home.dataDir, { adapters: ['./tiny'] })
    const examined = await home.run(['agents', 'doctor', 'tiny'])
    expect(examined.stdout).toMatch(/^ok +found +in the module \.\/tiny\n(ok .*\n)*ok +end /)
    configure(home.dataDir, { adapters: ['./tiny'], agents: { tiny: { disabled: true } } })
    const hidden = await home.run(['agents', 'doctor', 'tiny'])
    expect(hidden.stderr).toContain('There is no agent "tiny". It is disabled in config.json.')
  })
})

describe('a module that cannot be used', () => {
  const load = async (text: string, agents: Record<string, object> = {}) => {
    const dataDir = folderForTest()
    configure(dataDir, {})
    writeFileSync(join(dataDir, 'tiny.mjs'), tiny)
    writeFileSync(join(dataDir, 'wrong.mjs'), text)
    const modules = ['./tiny.mjs', './wrong.mjs'].map((module) => ({ module, options: {} }))
    const taken = new Set(builtInAdapters().map(({ id }) => id))
    return loadOwnAdapters({ modules, dataDir, env: {}, agents, taken })
  }
  const returning = (change: string) =>
    `${tiny.replace('export const createAdapter', 'const create')}
     export const createAdapter = (input) => Object.assign(create(input), { id: 'wrong' }, ${change})`

  it.each([
    ['exports nothing', '', 'validation_error', /exports no function "createAdapter"/],
    ['returns nothing', 'export default () => undefined', 'validation_error', /did not return an adapter/],
    ['throws', 'throw new Error("no licence")', 'agent_failed', /it failed: no licence$/],
    ['needs a missing package', "import 'nowhere'", 'agent_failed', /Cannot find package 'nowhere'/],
    ['has no connect', returning('{ connect: 1 }'), 'validation_error', /at connect: must be a function/],
    ['has an unknown mode', returning("{ modes: ['yolo'] }"), 'validation_error', /at modes\.0: /],
    ['takes a built-in id', returning("{ id: 'claude' }"), 'conflict', /its id "claude" belongs to another/],
    ['takes the id of another module', tiny, 'conflict', /its id "tiny" belongs to "\.\/tiny\.mjs"/],
  ])('because it %s is reported, and the others are used', async (_, text, code, message) => {
    const { adapters, failures } = await load(text)
    expect(adapters.map(({ id }) => id)).toEqual(['tiny'])
    expect(failures).toEqual([
      {
        module: './wrong.mjs',
        error: expect.objectContaining({ code, message: expect.stringMatching(message) }),
      },
    ])
  })

  it('because config.json sets something that has no effect for it is reported', async () => {
    const { failures } = await load(returning('{}'), { wrong: { args: ['--fast'] } })
    expect(failures[0]?.error.message).toContain('agents.wrong.args is set in config.json')
  })

  it('because another user can change it is not run', async () => {
    const open = mkdtempSync(join(tmpdir(), 'parley-open-'))
    onTestFinished(() => rmSync(open, { recursive: true }))
    const marker = join(open, 'ran')
    const module = join(open, 'open.mjs')
    writeFileSync(module, `import { writeFileSync } from 'node:fs'; writeFileSync('${marker}', '')`)
    chmodSync(open, 0o755)
    chmodSync(module, 0o666)
    const dataDir = folderForTest()
    configure(dataDir, {})
    const linked = join(dataDir, 'linked.mjs')
    symlinkSync(module, linked)
    const modules = [module, './linked.mjs'].map((one) => ({ module: one, options: {} }))
    const { failures } = await loadOwnAdapters({ modules, dataDir, env: {}, agents: {}, taken: new Set() })
    expect(failures.map(({ error }) => error.details?.reason)).toEqual(['unguarded', 'unguarded'])
    expect(existsSync(marker)).toBe(false)
  })
})

describe('the search for a module', () => {
  it('never uses the current folder, its parents, NODE_PATH or a config.json outside the data folder', async () => {
    await using home = createHome()
    const marker = join(home.folder, 'ran')
    const evil = `import { writeFileSync } from 'node:fs'; writeFileSync('${marker}', '')`
    const elsewhere = join(home.folder, 'elsewhere')
    for (const folder of [home.folder, elsewhere, home.dataDir])
      writePackage(join(folder, 'node_modules/evil'), evil)
    writeFileSync(join(home.folder, 'evil.mjs'), evil)
    configure(home.folder, { adapters: ['./evil.mjs', 'evil'] })
    configure(home.dataDir, { adapters: ['evil', './evil.mjs'] })
    const env = { NODE_PATH: join(elsewhere, 'node_modules') }
    const { exitCode, stdout } = await home.start(['agents', '--json'], { env }).ended
    const failed = stdout.split('\n').filter((line) => line.startsWith('{"module"'))
    expect([exitCode, failed.length, existsSync(marker)]).toEqual([0, 2, false])
  })

  it.each<[string, object, string | undefined]>([
    ['a string', { exports: './entry.mjs' }, 'entry.mjs'],
    [
      'conditions',
      { exports: { types: './entry.d.ts', import: './entry.mjs', default: './no.js' } },
      'entry.mjs',
    ],
    [
      'an entry',
      { exports: { './x': './x.js', '.': { node: './entry.mjs' } }, main: './no.js' },
      'entry.mjs',
    ],
    ['main', { main: 'entry.mjs' }, 'entry.mjs'],
    ['no entry', { exports: { './x': './x.js' } }, undefined],
    ['a missing file', { exports: './no.js' }, undefined],
  ])('finds the entry point of a package that names %s', (_, manifest, file) => {
    const dataDir = folderForTest()
    const folder = join(dataDir, 'adapters/node_modules/@mine/agent')
    writePackage(folder, '', manifest)
    const find = () => findModule('@mine/agent', dataDir)
    if (file !== undefined) expect(find()).toBe(join(folder, file))
    else expect(find).toThrow(ParleyError)
  })
})
