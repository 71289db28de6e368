import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { messageIdOf } from './native.ts'
import { commandIn, nativeParts } from './prompt.ts'
import { nativeModel, serverEnvironment, serverKey } from './settings.ts'

const configOf = (env: Record<string, string>) => JSON.parse(env.OPENCODE_CONFIG_CONTENT ?? '{}')

it('adds its own settings to those of the person', () => {
  const given = { model: 'a/b', agent: { explore: { model: 'c/d' } }, experimental: { batch_tool: true } }
  const env = serverEnvironment(
    { OPENCODE_CONFIG_CONTENT: JSON.stringify(given), OPENCODE_PERMISSION: '{"bash":"deny"}', HOME: '/h' },
    { trusted: true },
  )
  expect(configOf(env)).toEqual({
    model: 'a/b',
    agent: { explore: { model: 'c/d', permission: { edit: 'deny' } } },
    experimental: { batch_tool: true, continue_loop_on_deny: true },
    mcp: {},
  })
  expect(JSON.parse(env.OPENCODE_PERMISSION ?? '')).toEqual({ bash: 'deny', '*': 'ask' })
  expect(env.HOME).toBe('/h')
  expect(env.OPENCODE_DISABLE_PROJECT_CONFIG).toBeUndefined()
})

it('loads nothing from a folder that is not trusted', () => {
  expect(serverEnvironment({}, { trusted: false }).OPENCODE_DISABLE_PROJECT_CONFIG).toBe('1')
})

it('refuses settings that cannot be parsed', () => {
  for (const name of ['OPENCODE_CONFIG_CONTENT', 'OPENCODE_PERMISSION']) {
    const start = () => serverEnvironment({ [name]: '[not json' }, { trusted: true })
    expect(start).toThrow(expect.objectContaining({ code: 'validation_error' }))
  }
})

it('converts MCP servers to OpenCode’s settings', () => {
  const mcpServers = {
    near: { command: 'run', args: ['--it'], env: { A: 'b' } },
    far: { type: 'http' as const, url: 'https://example.test/mcp', headers: { x: 'y' } },
  }
  expect(configOf(serverEnvironment({}, { trusted: true, mcpServers })).mcp).toEqual({
    near: { type: 'local', command: ['run', '--it'], environment: { A: 'b' } },
    far: { type: 'remote', url: 'https://example.test/mcp', oauth: false, headers: { x: 'y' } },
  })
})

it('shares a server only between sessions with the same needs', () => {
  const a = { command: 'a' }
  const b = { command: 'b' }
  const key = (mcpServers: Record<string, { command: string }>, trusted = true) =>
    serverKey({ trusted, mcpServers })
  expect(key({ a, b })).toBe(key({ b, a }))
  expect(key({})).toBe(serverKey({ trusted: true }))
  expect(new Set([key({}), key({}, false), key({ a }), key({ a: b })]).size).toBe(4)
})

it('splits the name of a model at its first slash', () => {
  expect(nativeModel('openrouter/a/b')).toEqual({ providerID: 'openrouter', modelID: 'a/b' })
  for (const bad of ['sonnet', '/a', 'a/', '']) expect(nativeModel(bad)).toBeUndefined()
})

it('gives a prompt the same id each time, and different prompts different ids', () => {
  const id = messageIdOf('ses_1', 'prm_1')
  expect(id).toMatch(/^msg_\w+$/)
  expect(messageIdOf('ses_1', 'prm_1')).toBe(id)
  expect(messageIdOf('ses_1', 'prm_2')).not.toBe(id)
  expect(messageIdOf('ses_2', 'prm_1')).not.toBe(id)
})

it('attaches files to a prompt, and reports one that is missing', () => {
  const cwd = mkdtempSync(join(tmpdir(), 'parley-prompt-'))
  writeFileSync(join(cwd, 'a.txt'), 'a')
  const file = (more: object) => nativeParts([{ type: 'file', name: 'a.txt', ...more }], cwd)[0]
  expect(file({ path: 'a.txt' })).toEqual({
    type: 'file',
    mime: 'text/plain',
    url: `file://${join(cwd, 'a.txt')}`,
    filename: 'a.txt',
  })
  expect(file({ path: 'b.txt' })).toEqual({ type: 'text', text: 'The file b.txt does not exist.' })
  expect(file({ text: 'hi' })).toMatchObject({ mime: 'text/plain', url: 'data:text/plain;base64,aGk=' })
  expect(file({ mimeType: 'application/pdf', data: 'AAAA' })).toMatchObject({ mime: 'application/pdf' })
  expect(file({ mimeType: 'text/css', data: 'AAAA' })).toMatchObject({ mime: 'text/plain' })
  rmSync(cwd, { recursive: true })
})

it('finds the command at the start of a prompt', () => {
  const image = { type: 'image' as const, mimeType: 'image/png', data: 'AAAA' }
  const command = { type: 'command' as const, name: 'review', arguments: 'all' }
  expect(commandIn([command, { type: 'text', text: 'of it' }, image], '/')).toMatchObject({
    name: 'review',
    arguments: 'all of it',
    files: [{ type: 'file', mime: 'image/png' }],
  })
  expect(commandIn([{ type: 'text', text: 'hello' }, command], '/')).toBeUndefined()
})
