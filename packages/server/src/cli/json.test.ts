import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '@parley/client'
import type { Command } from 'commander'
import { expect, it, onTestFinished, vi } from 'vitest'
import { contextUnderTest } from './context-under-test.ts'
import { createProgram } from './program.ts'
import { createHome, type StartOptions } from './program-under-test.ts'
import { createStandIns } from './service-manager-under-test.ts'

/** The commands that print no JSON, with the reason. */
const exceptions: Readonly<Record<string, string>> = {
  attach: 'a dialogue on a terminal',
  export: 'prints the format that --as names; jsonl is JSON',
  acp: 'speaks the Agent Client Protocol',
  completions: 'prints a script',
  'audit export': 'prints the ledger, which is lines of JSON',
  'audit keys': 'prints the lines that verify --key reads',
}
/**
 * The JSON of these commands is tested elsewhere, because they need another process, a database, a registry
 * or a target.
 */
const elsewhere = [
  ...['serve', 'migrate', 'restore', 'retention', 'import', 'notify add', 'notify test', 'notify remove'],
  ...['agents install', 'agents update', 'agents remove', 'agents key', 'service status'],
  ...['people role', 'people disable', 'people enable', 'devices revoke', 'worktrees remove'],
  ...['worktrees restore', 'worktrees fill'],
  // These commands need a repository.
  ...['changes', 'discard', 'commit', 'push', 'pr', 'merge', 'round', 'rounds show', 'rounds pick', 'check'],
]

function leavesOf(command: Command, path = ''): { path: string; command: Command }[] {
  const inner = command.commands.filter((one) => one.name() !== 'help')
  const isRunnable =
    path !== '' && (inner.length === 0 || command.options.some(({ long }) => long === '--json'))
  return [
    ...(isRunnable ? [{ path, command }] : []),
    ...inner.flatMap((one) => leavesOf(one, `${path} ${one.name()}`.trim())),
  ]
}

const leaves = leavesOf(await createProgram(contextUnderTest({ env: {}, cwd: '/' }).context, () => undefined))

it('every command that prints a result takes --json', () => {
  expect(leaves.length).toBeGreaterThan(50)
  const without = leaves.filter(({ command }) => !command.options.some(({ long }) => long === '--json'))
  expect(without.map(({ path }) => path).sort()).toEqual(Object.keys(exceptions).sort())
})

/** The values that a command printed: one value on several lines, or one value on each line. */
function valuesIn(stdout: string): unknown[] {
  try {
    return [JSON.parse(stdout)]
  } catch {
    return stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown)
  }
}

it('with --json, every command prints JSON and nothing else to stdout', async () => {
  await using home = createHome()
  const system = createStandIns(home.folder)
  onTestFinished(() => system.killService())
  const { url, token } = await home.serve()
  using client = createClient({ url, token })
  const { id } = await client.createSession({ agent: 'demo', cwd: home.folder })
  const tried = new Set<string>()
  const print = async (path: string, args: readonly string[] = [], options: StartOptions = {}) => {
    tried.add(path)
    const { stdout, stderr } = await home.run([...path.split(' '), ...args, '--json'], options)
    expect(stdout, `${path} prints something: ${stderr}`).not.toBe('')
    expect(() => valuesIn(stdout), `${path} prints ${stdout}`).not.toThrow()
    return valuesIn(stdout)[0] as Record<string, string>
  }
  /** Expects that a list is empty and prints nothing. */
  const printNothing = async (path: string) => {
    tried.add(path)
    expect(await home.run([...path.split(' '), '--json'])).toMatchObject({ stdout: '', exitCode: 0 })
  }
  await print('run', ['demo', 'help'])
  for (const path of ['sessions', 'nodes', 'whoami', 'agents', 'token', 'projects']) await print(path)
  for (const path of ['devices', 'notify', 'notify list', 'worktrees', 'rounds']) await printNothing(path)
  await client.prompt(id, 'show a permission')
  const isAsking = async () =>
    (await client.call('getSession', { params: { id }, query: {} })).requests.length > 0
  await vi.waitUntil(isAsking, 30_000)
  await print('pair')
  await print('search', ['show', 'a', 'permission'])
  for (const path of ['show', 'cancel', 'resume', 'archive', 'unarchive', 'pin', 'unpin', 'fork', 'release'])
    await print(path, [id])
  await print('rewind', [id, 'last', '--talk', '--no-files'])
  await print('unrewind', [id])
  await print('hand-off', [id, 'demo', '--show'])
  await print('audit head')
  const log = join(home.folder, 'log.jsonl')
  expect((await home.run(['export', id, '--proof', '-o', log])).exitCode).toBe(0)
  await print('verify', [log])
  const lines = readFileSync(log, 'utf8').split('\n')
  const seq = `${lines.findIndex((line) => line.includes('prompt.submitted') || line.includes('"turn.started"')) + 1}`
  await print('redact', [id, seq, '--reason', 'a password', '--yes'])
  await print('rename', [id, 'New title'])
  await print('delete', [id, '--yes'])
  await print('doctor', ['--port', '0'])
  const { ruleId = '' } = await print('rules add', ['deny', 'Bash'])
  await print('rules')
  await print('rules remove', [ruleId])
  await print('trust', ['.'])
  await print('env', ['KEY', '--folder', '.'], { input: 'a-value-0123456789' })
  const { tokenId = '' } = await print('token create', ['ci'])
  await print('token list')
  await print('token revoke', [tokenId])
  const asking = await client.createSession({ agent: 'demo', cwd: home.folder, prompt: 'show a permission' })
  const state = () => client.call('getSession', { params: { id: asking.id }, query: {} })
  await expect.poll(async () => (await state()).requests.length).toBe(1)
  const { linkId = '' } = await print('link', [asking.id])
  await print('link list')
  await print('link revoke', [linkId])
  const { inviteId = '' } = await print('people invite', ['--name', 'Ada', '--role', 'viewer'])
  await print('people invites')
  const { personId = '' } = await print('people')
  await print('people rename', [personId, 'Grace'])
  await print('people withdraw', [inviteId])
  await print('agents add', ['mine', '--command', process.execPath])
  await print('agents forget', ['mine'])
  await print('agents doctor', ['demo'])
  await print('backup', [join(home.folder, 'backup.tar.gz')])
  const other = ['--data-dir', join(home.folder, 'other')]
  const options = { env: { PATH: system.path, PARLEY_PORT: '0' } }
  for (const path of ['service install', 'service logs', 'service uninstall'])
    await print(path, other, options)

  const expected = leaves
    .map(({ path }) => path)
    .filter((path) => !(path in exceptions) && !elsewhere.includes(path))
  expect([...tried].sort(), 'try each new command here, or name it in `elsewhere`').toEqual(expected.sort())
})
