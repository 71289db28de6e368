import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { connectInput, silentPerson } from '@parley/adapter-kit/testing'
import type { PermissionMode } from '@parley/protocol'
import { expect, it } from 'vitest'
import { folderForFile } from '../../testing/temporary-folder.ts'
import { userInput } from './prompt.ts'
import { nativeConfig, threadParams, turnParams } from './settings.ts'

const place = folderForFile()

it.each([
  ['ask', 'workspace-write', 'workspaceWrite'],
  ['accept-edits', 'workspace-write', 'workspaceWrite'],
  ['read-only', 'read-only', 'readOnly'],
  ['plan', 'read-only', 'readOnly'],
  ['bypass', 'danger-full-access', 'dangerFullAccess'],
] as const)('in mode %s Codex asks about everything, with the sandbox %s', (mode, sandbox, policy) => {
  const params = threadParams(connectInput({ settings: { mode } }), {})
  expect(params).toMatchObject({ approvalPolicy: 'untrusted', approvalsReviewer: 'user', sandbox })
  const turn = turnParams(
    { mode },
    { cwd: '/a', model: 'm', sandbox: { type: 'dangerFullAccess' }, wasPlan: false },
  )
  expect(turn).toMatchObject({
    approvalPolicy: 'untrusted',
    approvalsReviewer: 'user',
    sandboxPolicy: { type: policy },
  })
})

it('keeps the permissions of the person’s own sandbox', () => {
  const sandbox = {
    type: 'workspaceWrite',
    writableRoots: ['/b'],
    networkAccess: true,
    excludeTmpdirEnvVar: true,
    excludeSlashTmp: true,
  } as const
  const context = { cwd: '/a', model: 'm', sandbox, wasPlan: false }
  expect(turnParams({ mode: 'ask' }, context).sandboxPolicy).toEqual(sandbox)
})

it.each([
  ['plan', false, 'plan'],
  ['ask', true, 'default'],
  ['ask', false, undefined],
] as [PermissionMode, boolean, string | undefined][])(
  'sends the collaboration mode only to enter or to leave plan mode: mode %s, plan mode before: %s',
  (mode, wasPlan, expected) => {
    const context = { cwd: '/a', model: 'm', sandbox: { type: 'dangerFullAccess' }, wasPlan } as const
    const { collaborationMode } = turnParams({ mode, options: { effort: 'low' } }, context)
    expect((collaborationMode as { mode: string } | undefined)?.mode).toBe(expected)
  },
)

it.each([true, false])('always sets the trust level of the folder (%s) and of its repository', (trusted) => {
  const cwd = join(place, `repository-${trusted}`, 'inner')
  mkdirSync(cwd, { recursive: true })
  mkdirSync(join(cwd, '..', '.git'))
  const level = { trust_level: trusted ? 'trusted' : 'untrusted' }
  expect(nativeConfig(connectInput({ cwd, trusted })).projects).toEqual({
    [cwd]: level,
    [join(cwd, '..')]: level,
  })
})

it('passes on MCP servers with approval for each tool', () => {
  const mcpServers = {
    local: { command: 'run', args: ['it'], env: { A: '1' } },
    far: { type: 'http' as const, url: 'https://somewhere.example/mcp', headers: { Authorization: 'b' } },
  }
  expect(nativeConfig(connectInput({ mcpServers })).mcp_servers).toEqual({
    local: { command: 'run', args: ['it'], env: { A: '1' }, default_tools_approval_mode: 'prompt' },
    far: {
      url: 'https://somewhere.example/mcp',
      http_headers: { Authorization: 'b' },
      default_tools_approval_mode: 'prompt',
    },
  })
  const old = { sse: { type: 'sse' as const, url: 'https://somewhere.example/sse' } }
  expect(() => nativeConfig(connectInput({ mcpServers: old }))).toThrow(/sse/)
})

it('disables tools that are refused and that Codex would never ask about', () => {
  const refusing = { ...silentPerson, forbids: () => true }
  expect(nativeConfig(connectInput({ person: refusing }))).toMatchObject({
    web_search: 'disabled',
    features: { multi_agent: false, multi_agent_v2: false, image_generation: false },
  })
  const config = nativeConfig(connectInput({ person: silentPerson }))
  expect(config).not.toHaveProperty('web_search')
  expect(config.features).toEqual({
    default_mode_request_user_input: true,
    goals: false,
    unified_exec_tty: false,
  })
})

it('starts with the options of the session', () => {
  const options = {
    effort: 'high',
    systemPrompt: 'Be a parrot.',
    appendSystemPrompt: 'A blue one.',
    directories: ['/b'],
  }
  const input = connectInput({ cwd: '/a', settings: { model: 'm', options } })
  expect(threadParams(input, nativeConfig(input))).toMatchObject({
    model: 'm',
    baseInstructions: 'Be a parrot.',
    developerInstructions: 'A blue one.',
    runtimeWorkspaceRoots: ['/a', '/b'],
    config: { model_reasoning_effort: 'high' },
  })
})

it('converts a prompt to the input of Codex', () => {
  const skills = [{ name: 'dance', path: '/skills/dance' }]
  const text = (words: string) => ({ type: 'text', text: words, text_elements: [] })
  expect(
    userInput(
      [
        { type: 'text', text: 'Look.' },
        { type: 'image', mimeType: 'image/png', data: 'AAAA' },
        { type: 'file', name: 'a "b".txt', text: 'parsley' },
        { type: 'file', name: 'c.txt', data: 'c2FnZQ==' },
        { type: 'file', name: 'd.txt', path: 'src/d.txt' },
        { type: 'command', name: 'dance', arguments: 'slowly' },
        { type: 'command', name: 'unknown' },
      ],
      skills,
    ),
  ).toEqual([
    text('Look.'),
    { type: 'image', url: 'data:image/png;base64,AAAA' },
    text(`<file name="a 'b'.txt">\nparsley\n</file>`),
    text('<file name="c.txt">\nsage\n</file>'),
    text('The file src/d.txt'),
    { type: 'skill', name: 'dance', path: '/skills/dance' },
    text('$dance slowly'),
    text('/unknown'),
  ])
})
