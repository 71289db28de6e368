import { readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { builtInAdapters } from '../../packages/server/src/adapters/index.ts'
import { AgentHome } from '../../packages/server/src/testing/agent-home.ts'
import { modelPrompt } from '../../packages/server/src/testing/model-by-prompt.ts'
import { listen } from './console-browser.ts'
import { browserFixture } from './console-fixture.ts'
import { chooseAgent, shows } from './console-page.ts'
import { NpxHome, packageSizes } from './npx-home.ts'
import { type PackedPackages, packPackages } from './packed-packages.ts'

/** Tests `npx @parley/server` on a machine that has only npm. */
const agents = await AgentHome.forFile()
let packages: PackedPackages
let home: NpxHome
const { browser } = browserFixture({ url: '', newLink: async () => '' })

beforeAll(async () => {
  packages = packPackages()
  home = await NpxHome.open(packages)
}, 600_000)
afterAll(async () => {
  await home?.[Symbol.asyncDispose]()
  packages?.remove()
})

it('one line installs the program offline, and its link opens the console, in which the demo agent answers', async () => {
  await using server = await home.serve()
  const context = await browser().newContext()
  const page = await context.newPage()
  const consoleErrors: string[] = []
  listen(page, consoleErrors)
  await page.goto(server.link)
  await chooseAgent(page, 'Demo')
  await page.getByLabel('Folder', { exact: true }).fill(home.path)
  await page.getByRole('combobox', { name: 'Prompt' }).fill('help')
  await page.getByRole('combobox', { name: 'Prompt' }).press('Enter')
  await shows(page, /asks for permission before it does something/)
  expect(consoleErrors).toEqual([])
  await context.close()
})

it('an installation has at most 130 packages and 65 MB, none of Claude, and none with an install script', async () => {
  expect(await home.run(['--version'])).toMatchObject({ exitCode: 0 })
  const sizes = packageSizes(home.installed)
  const total = [...sizes.values()].reduce((sum, one) => sum + one, 0)
  expect(sizes.size, 'packages').toBeGreaterThan(50)
  expect(sizes.size, 'packages').toBeLessThanOrEqual(130)
  expect(total, 'bytes on disk').toBeLessThanOrEqual(65_000_000)
  expect([...sizes.keys()].filter((name) => name.includes('@anthropic-ai'))).toEqual([])
  const manifests = [...sizes.keys()].map((name) => readManifest(join(home.installed, name)))
  const scripts = ['preinstall', 'install', 'postinstall']
  const running = manifests.filter((one) => scripts.some((script) => one.scripts?.[script] !== undefined))
  expect(running.map(({ name }) => name)).toEqual([])
})

describe('Claude', () => {
  const words = (text: string) => modelPrompt(text, { content: `You said: ${text}` })
  const bin = agents.folder('bin')
  /** The environment of a person who is signed in to Claude, with their own `claude` on the PATH. */
  const env = () => ({ ...agents.env('claude'), PATH: `${bin}:${home.env.PATH}` })
  const use = (...args: string[]) => home.run(args, env())

  it('is refused with the command that installs it, which then installs no program beside that of the PATH', async () => {
    const refused = await use('run', 'claude', words('Hello.'))
    expect(refused.stderr).toMatch(/was not found\..* Install it: parley agents install claude\n$/)
    expect(refused.exitCode).toBe(1)

    const claude = builtInAdapters().find(({ id }) => id === 'claude')
    const { path = '' } = (await claude?.probe(AbortSignal.timeout(10_000))) ?? {}
    symlinkSync(path, join(bin, 'claude'))
    const stillRefused = await use('run', 'claude', words('Hello.'))
    expect(stillRefused.stderr).toContain(
      `The Agent SDK of Claude Code was not found. Parley needs it to run ${join(bin, 'claude')}. Install it: `,
    )
    const installed = await use('agents', 'install', 'claude')
    expect(installed.stdout).toMatch(/^claude 0\.3\.\d+ installed in /)
    const sizes = packageSizes(join(agents.path, '.parley/agents/claude/node_modules'))
    expect([...sizes.keys()]).toEqual(['@anthropic-ai/claude-agent-sdk'])

    const answered = await use('run', 'claude', words('Hello.'))
    expect(answered).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('You said: Hello.') })
    const doctor = await use('agents', 'doctor', 'claude')
    expect(doctor.stdout).toMatch(/^ok +version +2\.\d+\.\d+$/m)
    expect(doctor.exitCode).toBe(0)
  })

  it('continues a session from before the upgrade once it is installed again', async () => {
    expect(await use('agents', 'remove', 'claude')).toMatchObject({ exitCode: 0 })
    const refused = await use('run', 'claude', words('And now?'), '--session', 'last')
    expect(refused.stdout + refused.stderr).toContain('Install it: parley agents install claude')
    expect(refused.exitCode).toBe(1)
    expect(await use('agents', 'install', 'claude')).toMatchObject({ exitCode: 0 })
    const answered = await use('run', 'claude', words('Again.'), '--session', 'last')
    expect(answered).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('You said: Again.') })
    // The request to the model contains the words of the earlier session.
    expect(JSON.stringify(agents.model.calls.at(-1)?.body)).toContain('You said: Hello.')
  })
})

type Manifest = { readonly name: string; readonly scripts?: Record<string, string> }

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
}
