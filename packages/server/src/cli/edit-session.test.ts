import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TurnSnapshots } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { git } from '../workspace/hostile-repository-under-test.ts'
import { agentLines } from './commands/agents.ts'
import { createHome, type Home } from './program-under-test.ts'

async function lastSession(home: Home): Promise<{ id: string; title: string; status: string }> {
  const { stdout } = await home.run(['sessions', '--all', '--json'])
  return JSON.parse(stdout.split('\n')[0] ?? '')
}

/** A home with a running server, so that not every command starts its own. */
async function served(): Promise<Home> {
  const home = createHome()
  await home.serve()
  return home
}

describe('commands about sessions', () => {
  it('rename, archive, unarchive and fork a session', async () => {
    await using home = await served()
    await home.run(['run', 'demo', 'help'])
    const { id } = await lastSession(home)
    expect(await home.run(['rename', 'last', 'Fix the door'])).toMatchObject({
      exitCode: 0,
      stderr: `Renamed ${id} to Fix the door.\n`,
    })
    const archived = await home.run(['archive', id, '--json'])
    expect(JSON.parse(archived.stdout)).toMatchObject({ id, title: 'Fix the door', archived: true })
    expect((await home.run(['sessions'])).stdout).toBe('')
    expect(await home.run(['unarchive', id])).toMatchObject({ exitCode: 0, stderr: `Unarchived ${id}.\n` })
    const forked = await home.run(['fork', id, '--title', 'Other way', '--json'])
    expect(JSON.parse(forked.stdout)).toMatchObject({ title: 'Other way', forkedFrom: { sessionId: id } })
    const { blocks } = JSON.parse((await home.run(['show', id, '--json'])).stdout)
    const before = blocks.find(({ type }: { type: string }) => type === 'prompt').id
    const earlier = await home.run(['fork', id, '--before', before, '--json'])
    expect(JSON.parse(earlier.stdout)).toMatchObject({ turns: 0, forkedFrom: { sessionId: id, before } })
    const app = join(home.folder, 'app')
    mkdirSync(app)
    git(app, 'init', '-q')
    git(app, 'commit', '-q', '--allow-empty', '-m', 'first')
    await home.run(['run', 'demo', 'help', '--cwd', app])
    const apart = await home.run(['fork', 'last', '--worktree', '--branch', 'other', '--json'])
    expect(JSON.parse(apart.stdout)).toMatchObject({ turns: 1, worktree: { branch: 'other' } })
    expect((await home.run(['fork', id, '--branch', 'x'])).stderr).toContain('--worktree')
    const unknown = await home.run(['fork', id, '--before', 'prm_unknown'])
    expect(unknown).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('no prompt with that id') })
  })

  it('preview a rewind of files, rewind them, and undo it', async () => {
    await using home = await served()
    const folder = join(home.folder, 'project')
    const file = join(folder, 'a.txt')
    mkdirSync(folder)
    home.start(['run', 'demo', 'hang', '--cwd', folder], { input: '' })
    const turn = async (): Promise<TurnSnapshots | undefined> => {
      const shown = await home.run(['show', 'last', '--json'])
      return shown.exitCode === 0 ? JSON.parse(shown.stdout).snapshots?.turns[0] : undefined
    }
    await expect.poll(async () => (await turn())?.before, { timeout: 90_000 }).toBeDefined()
    writeFileSync(file, 'a\n')
    await home.run(['cancel', 'last'])
    await expect.poll(async () => (await turn())?.after, { timeout: 90_000 }).toBeDefined()
    const preview = await home.run(['rewind', 'last', 'last', '--preview'])
    expect(preview).toMatchObject({ exitCode: 0, stdout: 'remove      a.txt\n' })
    expect(existsSync(file)).toBe(true)
    const unknown = await home.run(['rewind', 'last', 'last', 'b.txt'])
    expect(unknown).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('No turn since') })
    const rewound = await home.run(['rewind', 'last', 'last', 'project/a.txt'])
    expect(rewound).toMatchObject({ exitCode: 0, stderr: expect.stringMatching(/^Restored 1 file\. Undo: /) })
    expect(existsSync(file)).toBe(false)
    expect(await home.run(['unrewind', 'last'])).toMatchObject({ exitCode: 0 })
    expect(readFileSync(file, 'utf8')).toBe('a\n')
    expect(await home.run(['unrewind', 'last'])).toMatchObject({ exitCode: 1 })
  })

  it('print their result as JSON (cancel, delete, token)', async () => {
    await using home = await served()
    home.start(['run', 'demo', 'hang'], { input: '' })
    const working = async () => (await home.run(['sessions', '--status', 'working'])).stdout
    await expect.poll(working, { timeout: 90_000 }).not.toBe('')
    const { id } = await lastSession(home)
    expect(JSON.parse((await home.run(['token', '--json'])).stdout)).toEqual({ token: expect.any(String) })
    const cancelled = await home.run(['cancel', id, '--json'])
    expect(JSON.parse(cancelled.stdout)).toEqual({ sessionId: id, paused: 0 })
    expect(JSON.parse((await home.run(['delete', id, '--yes', '--json'])).stdout)).toEqual({ sessionId: id })
  })

  it('list a session whose last turn failed as failed', async () => {
    await using home = await served()
    const { exitCode } = await home.run(['run', 'demo', 'fail'])
    expect(exitCode).toBe(1)
    expect((await home.run(['sessions'])).stdout).toMatch(/^ses_\w+ +failed +demo/m)
  })
})

describe('rules', () => {
  it('are added, listed and removed', async () => {
    await using home = await served()
    expect((await home.run(['rules'])).stderr).toContain('There are no rules.')
    const line = ['rules', 'add', 'deny', 'Bash', '--match', 'command=rm *', '--agent', 'demo', '--json']
    const rule = JSON.parse((await home.run(line)).stdout)
    expect(rule).toMatchObject({
      decision: 'deny',
      tool: 'Bash',
      match: { command: 'rm *' },
      scope: 'always',
    })
    const inFolder = await home.run(['rules', 'add', 'allow', 'Read', '--folder', '.', '--json'])
    expect(JSON.parse(inFolder.stdout)).toMatchObject({ scope: 'project', project: home.folder })
    const row = /deny +Bash +command=rm \* +everywhere +demo/
    expect((await home.run(['rules'])).stdout).toMatch(row)
    expect((await home.run(line.slice(0, -1))).stderr).toMatch(row)
    expect(await home.run(['rules', 'remove', rule.ruleId])).toMatchObject({ exitCode: 0 })
    expect((await home.run(['rules', '--json'])).stdout).not.toContain(rule.ruleId)
    expect(await home.run(['rules', 'remove', 'nothing'])).toMatchObject({ exitCode: 1 })
    expect(await home.run(['rules', 'add', 'perhaps', 'Bash'])).toMatchObject({ exitCode: 2 })
  })
})

it('help of an unknown command is an error that names similar commands', async () => {
  await using home = createHome()
  const { exitCode, stdout, stderr } = await home.run(['help', 'sesions'])
  expect([exitCode, stdout]).toEqual([2, ''])
  expect(stderr).toContain("unknown command 'sesions'")
  expect(stderr).toContain('sessions')
})

it('agents on a narrow terminal shows the whole hint on its own line', () => {
  const todo = 'Parley needs it to run /usr/bin/claude. Install it: parley agents install claude'
  const rows = [['claude', 'no', '-', '-', '/a/long/path/of/a/program/that/is/installed', todo]]
  const lines = agentLines(rows, 80)
  expect(lines[0]).not.toContain('WHAT TO DO')
  expect(lines[1]?.length).toBeLessThanOrEqual(80)
  expect(lines[2]).toBe(`  ${todo}`)
  expect(agentLines(rows, undefined)[1]).toContain(todo)
})

it('run continues its turn when the reader of its output closes the pipe', async () => {
  await using home = createHome()
  const running = home.start(['run', 'demo', 'flood'], { input: '' })
  await running.until(/./)
  running.child.stdout?.destroy()
  expect((await running.ended).exitCode).toBe(0)
  const shown = await home.run(['show', 'last', '--json'])
  expect(JSON.parse(shown.stdout)).toMatchObject({ lastTurn: { outcome: 'completed' } })
})
