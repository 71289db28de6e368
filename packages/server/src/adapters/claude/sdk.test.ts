import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { folderForFile } from '../../testing/temporary-folder.ts'
import { createClaudeAdapter } from './index.ts'

/** Tests the search for the Agent SDK and for Claude Code, and the choice between several installations. */

const place = folderForFile()
// A folder that only this user can enter would protect everything inside it.
chmodSync(place, 0o755)
const signal = () => AbortSignal.timeout(10_000)
let folders = 0

/** An agents folder with an SDK whose module is `code` and, with `hasProgram`, the program that belongs to the SDK. */
function agentsFolderWith({ version = '0.3.400', code = '', hasProgram = true } = {}) {
  const agentsFolder = join(place, `agents-${++folders}`)
  const scope = join(agentsFolder, 'claude/node_modules/@anthropic-ai')
  const sdk = join(scope, 'claude-agent-sdk')
  mkdirSync(sdk, { recursive: true, mode: 0o755 })
  writeFileSync(join(sdk, 'package.json'), JSON.stringify({ version, claudeCodeVersion: '2.1.400' }))
  writeFileSync(join(sdk, 'sdk.mjs'), code, { mode: 0o644 })
  const platform = join(scope, `claude-agent-sdk-${process.platform}-${process.arch}`)
  if (hasProgram) program(platform, 'exit 1')
  return { agentsFolder, sdk, included: join(platform, 'claude') }
}

/** A program called `claude` that consists of this shell script. */
function program(folder: string, lines: string): string {
  mkdirSync(folder, { recursive: true })
  const path = join(folder, 'claude')
  writeFileSync(path, `#!/bin/sh\n${lines}\n`)
  chmodSync(path, 0o755)
  return path
}

const reporting = (version: string) => `echo '${version} (Claude Code)'`
const env = (PATH: string) => ({ PATH, HOME: place, ANTHROPIC_API_KEY: 'placeholder' })

describe('the program', () => {
  const bin = join(place, 'bin')
  const onPath = program(bin, reporting('2.1.500'))
  const oldBin = join(place, 'old-bin')
  const old = program(oldBin, reporting('2.1.317'))

  it('is the program that Parley installed with the SDK, with the version that the SDK names', async () => {
    const { agentsFolder, included } = agentsFolderWith()
    const adapter = createClaudeAdapter({ env: env(bin), agentsFolder })
    expect(await adapter.probe(signal())).toEqual({
      found: true,
      path: included,
      version: '2.1.400',
      signedIn: true,
    })
  })

  it('is the program on the PATH if the SDK was installed without its program, with the version that the program reports', async () => {
    const { agentsFolder } = agentsFolderWith({ hasProgram: false })
    const adapter = createClaudeAdapter({ env: env(bin), agentsFolder })
    expect(await adapter.probe(signal())).toMatchObject({ found: true, path: onPath, version: '2.1.500' })
    expect(await adapter.install?.library?.hasOtherProgram()).toBe(true)
  })

  it('is the configured program, if one is configured', async () => {
    const executable = program(join(place, 'configured'), reporting('2.1.600'))
    const { agentsFolder } = agentsFolderWith()
    const adapter = createClaudeAdapter({ env: env(bin), agentsFolder, executable })
    expect(await adapter.probe(signal())).toMatchObject({ path: executable, version: '2.1.600' })
  })

  it('cannot be used if it is too old, and does not count as another usable program', async () => {
    const { agentsFolder } = agentsFolderWith({ hasProgram: false })
    const adapter = createClaudeAdapter({ env: env(oldBin), agentsFolder })
    expect(await adapter.probe(signal())).toEqual({
      found: true,
      path: old,
      version: '2.1.317',
      usable: false,
      hint: `${old} is Claude Code 2.1.317, and Parley needs 2.1.318 or newer. Update it, or install the version that Parley is tested with: parley agents install claude`,
    })
    expect(await adapter.install?.library?.hasOtherProgram()).toBe(false)
  })

  it('is missing if the SDK was installed without it and the PATH has none', async () => {
    const { agentsFolder } = agentsFolderWith({ hasProgram: false })
    const adapter = createClaudeAdapter({ env: env('/nowhere'), agentsFolder })
    expect(adapter.refusal?.()).toMatchObject({
      code: 'agent_not_found',
      message: 'Claude Code was not found. Install it: parley agents install claude',
    })
    expect(await adapter.install?.library?.hasOtherProgram()).toBe(false)
  })
})

it('Parley installs the version of the SDK that this repository is built and tested with', () => {
  const root = join(import.meta.dirname, '../../../../..')
  const read = (file: string) => JSON.parse(readFileSync(join(root, file), 'utf8'))
  const { install } = createClaudeAdapter({ env: {} })
  const name = install?.package ?? ''
  const locked = read('package-lock.json').packages[`node_modules/${name}`]
  expect(install).toMatchObject({ version: locked.version, integrity: locked.integrity })
  expect(read('package.json').devDependencies[name]).toBe(install?.version)
  expect(read(`node_modules/${name}/package.json`).claudeCodeVersion).toBe(install?.programVersion)
})

describe('the Agent SDK', () => {
  /** Loads the SDK, and returns the reason why the load failed. */
  const failureWith = (agentsFolder: string) =>
    createClaudeAdapter({ env: env('/usr/bin:/bin'), agentsFolder })
      .models?.(signal())
      .then(
        () => undefined,
        ({ message }: Error) => message,
      )
  const isHere = "throw new Error('this is the SDK')"

  it('of the agents folder is loaded, and after an update the new version', async () => {
    const { agentsFolder, sdk } = agentsFolderWith({ code: isHere })
    expect(await failureWith(agentsFolder)).toBe(
      `The Agent SDK of Claude Code (${sdk}) cannot be loaded: this is the SDK`,
    )
    writeFileSync(join(sdk, 'package.json'), JSON.stringify({ version: '0.3.401' }))
    writeFileSync(join(sdk, 'sdk.mjs'), "throw new Error('this is a newer SDK')")
    expect(await failureWith(agentsFolder)).toMatch(/this is a newer SDK$/)
  })

  it('of the agents folder is ignored if it is too old', async () => {
    const { agentsFolder, included } = agentsFolderWith({ version: '0.3.324', code: isHere })
    const { path } = await createClaudeAdapter({ env: env('/nowhere'), agentsFolder }).probe(signal())
    expect(path).not.toBe(included)
  })

  it.each(['sdk.mjs', '.', '..', '../../..'])(
    'is not loaded if other users can write to %s',
    async (changed) => {
      const { agentsFolder, sdk } = agentsFolderWith({ code: isHere })
      const path = join(sdk, changed)
      chmodSync(path, 0o777)
      expect(await failureWith(agentsFolder)).toBe(
        `Parley does not load ${join(sdk, 'sdk.mjs')}, because other users can write to ${path}. Run: chmod go-w ${path}`,
      )
    },
  )

  it('is loaded if other users could write to it, but cannot reach it', async () => {
    const { agentsFolder, sdk } = agentsFolderWith({ code: isHere })
    chmodSync(join(sdk, 'sdk.mjs'), 0o666)
    chmodSync(agentsFolder, 0o700)
    expect(await failureWith(agentsFolder)).toMatch(/this is the SDK$/)
  })

  it('is not loaded if it belongs to another user', async () => {
    const { agentsFolder, sdk } = agentsFolderWith({ code: isHere })
    const own = process.getuid?.() ?? 0
    // Files of root are trusted, so a test that runs as root changes the owner of the file. Otherwise the test
    // pretends to run as a different user.
    if (own === 0) chownSync(join(sdk, 'sdk.mjs'), 12_345, 12_345)
    else vi.spyOn(process, 'getuid').mockReturnValue(own + 1)
    expect(await failureWith(agentsFolder)).toMatch(/ belongs to another user\. /)
    vi.restoreAllMocks()
  })
})
