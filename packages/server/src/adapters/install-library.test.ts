import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, it } from 'vitest'
import { folderForFile } from '../testing/temporary-folder.ts'
import { type InstallRequest, installAgent, packageAt } from './install.ts'
import { startRegistry } from './npm-registry-under-test.ts'

/** Tests libraries: packages that an adapter loads into Parley's process. The agent's program is another package. */

const root = folderForFile()
const registry = await startRegistry()
afterAll(() => registry[Symbol.asyncDispose]())

let agentsFolder: string
/** New names for each test, since npm caches the packages that it fetched. */
let name: string
let program: string
let peer: string
let tests = 0
beforeEach(() => {
  agentsFolder = join(root, randomUUID(), 'agents')
  name = `library-${process.pid}-${++tests}`
  program = `${name}-program`
  peer = `${name}-peer`
  registry.publish({ name: peer, version: '1.0.0' })
  registry.publish({ name: program, version: '1.0.0' })
  publish('1.0.0')
})

const touch = (file: string) => `node -e "require('fs').writeFileSync('${file}', '')"`
const publish = (version: string) =>
  registry.publish({
    name,
    version,
    program: false,
    scripts: { postinstall: touch('ran') },
    optionalDependencies: { [program]: '1.0.0' },
    peerDependencies: { [peer]: '1.0.0' },
  })

const inside = (...path: string[]) => join(agentsFolder, 'tiny', 'node_modules', ...path)
const programIn = (folder: string) => {
  const path = join(folder, 'node_modules', program, 'program.js')
  return existsSync(path) ? path : undefined
}

const install = (hasOtherProgram: boolean, more: Partial<InstallRequest> = {}) =>
  installAgent({
    agentsFolder,
    agent: 'tiny',
    package: name,
    version: '1.0.0',
    library: { programIn, hasOtherProgram: async () => hasOtherProgram },
    env: registry.env,
    ...more,
  })

it('the program is installed with the library, without peers, and no install script runs', async () => {
  const done = await install(false)
  expect(done).toEqual({ version: '1.0.0', path: inside(program, 'program.js'), changed: true })
  expect(readdirSync(inside()).filter((one) => !one.startsWith('.'))).toEqual([name, program])
  expect(existsSync(inside(name, 'ran'))).toBe(false)
})

it('the program is left out if the machine has another one', async () => {
  expect(await install(true)).toEqual({ version: '1.0.0', path: inside(name), changed: true })
  expect(existsSync(inside(program))).toBe(false)
  expect(registry.asked.filter((path) => path.startsWith(`${program}/-/`))).toEqual([])
  expect(await install(true)).toMatchObject({ changed: false })
})

it('a program that is missing or explicitly requested is added to the installed library, and then kept', async () => {
  await install(true)
  expect(await install(false)).toEqual({
    version: '1.0.0',
    path: inside(program, 'program.js'),
    changed: true,
  })
  expect(await install(true)).toMatchObject({ changed: false, path: inside(program, 'program.js') })
  publish('2.0.0')
  await install(true, { version: '2.0.0' })
  expect(existsSync(inside(program))).toBe(false)
  expect(await install(true, { version: '2.0.0', withProgram: true })).toMatchObject({ changed: true })
  expect(existsSync(inside(program))).toBe(true)
})

it('a library without a program for this platform is refused', async () => {
  const nothing = { programIn: () => undefined, hasOtherProgram: async () => false }
  await expect(install(false, { library: nothing })).rejects.toMatchObject({
    code: 'agent_failed',
    message: `${name} 1.0.0 was not installed: it has no program for this platform.`,
  })
  expect(readdirSync(agentsFolder)).toEqual([])
})

it('the tested version with different content is refused, and other versions are installed without that check', async () => {
  const integrity = registry.integrityOf(name, '1.0.0')
  await expect(install(true, { integrity: `sha512-${'A'.repeat(86)}==` })).rejects.toMatchObject({
    code: 'agent_failed',
    message: `${name} 1.0.0 was not installed: its content differs from the content that Parley was tested with.`,
  })
  expect(readdirSync(agentsFolder)).toEqual([])
  expect(await install(true, { integrity })).toMatchObject({ version: '1.0.0', changed: true })
  publish('2.0.0')
  const tested = { package: name, version: '1.0.0', integrity }
  expect(await install(true, packageAt(tested, '2.0.0'))).toMatchObject({ version: '2.0.0', changed: true })
  expect(packageAt(tested, '1.0.0')).toEqual(tested)
})
