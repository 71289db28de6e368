import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connectInput } from '@parley/adapter-kit/testing'
import { beforeEach, expect, it } from 'vitest'
import { folderForTest } from '../../testing/temporary-folder.ts'
import { withDefaults } from './agent.ts'
import { AcpAgent, acpAgents, codexAcp, createAcpAdapter, gemini, opencodeAcp } from './index.ts'
import { writeSettings } from './write-settings.ts'

let home: string
beforeEach(() => {
  home = folderForTest()
})

it.each(acpAgents.map((agent) => [agent.id, agent] as const))('has a valid entry for %s', (id, agent) => {
  expect(withDefaults(agent)).toEqual(AcpAgent.parse(agent))
  expect(createAcpAdapter(agent, { env: {} })).toMatchObject({ id, name: agent.name })
})

it('lists every agent once', () => {
  expect(new Set(acpAgents.map(({ id }) => id)).size).toBe(acpAgents.length)
})

it('accepts any command as an agent, with the capabilities that the protocol requires', () => {
  const { capabilities, modes } = createAcpAdapter({ id: 'mine', name: 'Mine', command: 'mine' }, { env: {} })
  expect(Object.entries(capabilities).flatMap(([name, has]) => (has ? [name] : []))).toEqual([
    'streaming',
    'permissions',
    'interrupt',
    'environment',
  ])
  expect(modes).toEqual(['ask', 'accept-edits', 'read-only', 'bypass'])
})

it('refuses an invalid entry and names it', () => {
  const bad = { id: 'mine', name: 'Mine', command: 'mine', dialect: { planFile: '(' } }
  expect(() => createAcpAdapter(bad, { env: {} })).toThrow(/"mine".*dialect\.planFile/)
})

it('advises how to install an agent that is missing', async () => {
  const adapter = createAcpAdapter(gemini, { env: { PATH: home } })
  expect(await adapter.probe(new AbortController().signal)).toMatchObject({
    found: false,
    hint: expect.stringContaining('npm install -g @google/gemini-cli@0.61.0'),
  })
  await expect(adapter.connect(connectInput())).rejects.toMatchObject({ code: 'agent_not_found' })
})

it('finds the agent that Parley installed, with its version, and probes its sign-in', async () => {
  const folder = join(home, 'gemini/node_modules/.bin')
  mkdirSync(folder, { recursive: true })
  const odd = join(import.meta.dirname, 'faulty-agent-under-test.ts')
  const script = `#!/bin/sh\nODD=$GEMINI_ODD exec ${process.execPath} ${odd}\n`
  writeFileSync(join(folder, 'gemini'), script, { mode: 0o755 })
  mkdirSync(join(home, 'gemini/node_modules/@google/gemini-cli'), { recursive: true })
  writeFileSync(join(home, 'gemini/node_modules/@google/gemini-cli/package.json'), '{ "version": "1.2.3" }')
  const env = { HOME: home, PATH: process.env.PATH }
  const probe = (more = {}) =>
    createAcpAdapter(gemini, { env: { ...env, ...more }, agentsFolder: home }).probe(
      AbortSignal.timeout(15_000),
    )
  const found = { found: true, path: join(folder, 'gemini'), version: '1.2.3' }
  expect(await probe({ GEMINI_ODD: 'unsigned' })).toEqual({
    ...found,
    signedIn: false,
    hint: expect.stringContaining('GEMINI_API_KEY'),
    command: join(folder, 'gemini'),
  })
  expect(await probe()).toEqual({ ...found, signedIn: true })
})

it.each([codexAcp, opencodeAcp])('starts $id only in trusted folders', async (preset) => {
  const env = { HOME: home, PATH: process.env.PATH }
  const adapter = createAcpAdapter(preset, { env, executable: process.execPath })
  await expect(adapter.connect(connectInput({ cwd: home }))).rejects.toMatchObject({
    code: 'not_supported',
    message: expect.stringContaining('Trust the folder first.'),
  })
})

it('writes the settings for folders that are not trusted into a file that only this user can change', () => {
  const settings = { security: { folderTrust: { enabled: true } } }
  const file = writeSettings('mine-untrusted', settings, home)
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(settings)
  expect(statSync(file).mode & 0o077).toBe(0)
  writeFileSync(file, '{}')
  expect(writeSettings('mine-untrusted', settings, home)).toBe(file)
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(settings)
})

it('refuses MCP servers if the agent would drop them silently', async () => {
  const env = { HOME: home, PATH: process.env.PATH }
  const adapter = createAcpAdapter(gemini, { env, executable: process.execPath })
  const input = connectInput({ cwd: home, mcpServers: { echo: { command: 'true' } } })
  await expect(adapter.connect(input)).rejects.toMatchObject({
    code: 'not_supported',
    message: expect.stringContaining('Trust the folder'),
  })
})
