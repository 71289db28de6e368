import { mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { emptyState } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { stateLines } from './commands/show.ts'
import { createHome, type Home } from './program-under-test.ts'

function folderIn(home: Home, name: string): string {
  const folder = join(home.folder, name)
  mkdirSync(folder, { recursive: true })
  return folder
}

async function listed(home: Home): Promise<string[]> {
  const { stdout } = await home.run(['trust', '--list', '--json'])
  const lines = stdout.split('\n').filter((line) => line !== '')
  return lines.map((line) => JSON.parse(line).folder)
}

describe('parley trust', () => {
  it('trusts the current folder or another one, lists trusted folders, and revokes trust', async () => {
    await using home = createHome()
    const none = await home.run(['trust', '--list'])
    expect(none).toMatchObject({
      exitCode: 0,
      stdout: '',
      stderr: 'No folder is trusted. Trust one: npm start -- trust <folder>\n',
    })
    const app = folderIn(home, 'an app')
    expect(await home.run(['trust'])).toMatchObject({ exitCode: 2 })
    expect(await home.run(['trust', '.'])).toMatchObject({
      exitCode: 0,
      stdout: '',
      stderr: `Trusted ${home.folder} and all folders inside it. The change takes effect when an agent next starts; idle agents restart with their next prompt.\n`,
    })
    const { stdout } = await home.run(['trust', 'an app', '--json'])
    const trustedBy = {
      person: { id: 'per_owner', name: expect.any(String) },
      token: { id: 'tok_machine', name: 'this machine' },
      via: 'http',
    }
    expect(JSON.parse(stdout)).toEqual({ folder: app, trustedAt: expect.any(Number), trustedBy })
    expect(await listed(home)).toEqual([home.folder, app])
    expect((await home.run(['trust', '--list'])).stdout).toMatch(
      /^FOLDER +AGE\n\/\S+ +now\n\/.*\/an app +now\n$/,
    )

    const still = await home.run(['trust', '--remove', 'an app'])
    expect(still.stderr).toContain(`No longer trusted: ${app}.`)
    expect(still.stderr).toContain(`that folder is inside ${home.folder}, which is still trusted.`)
    const last = await home.run(['trust', '--remove', '.'])
    expect([last.exitCode, last.stderr]).toEqual([0, expect.not.stringContaining('still')])
    expect(await listed(home)).toEqual([])
  })

  it('revokes the target of a symbolic link, and a folder that no longer exists', async () => {
    await using home = createHome()
    const [real, gone] = [folderIn(home, 'real'), folderIn(home, 'gone')]
    symlinkSync(real, join(home.folder, 'link'))
    await home.run(['trust', 'link'])
    await home.run(['trust', 'gone'])
    expect(await listed(home)).toEqual([real, gone])
    rmSync(gone, { recursive: true })
    const removed = await home.run(['trust', '--remove', 'link', '--json'])
    expect(JSON.parse(removed.stdout)).toMatchObject({ folder: real })
    expect((await home.run(['trust', '--remove', 'gone/'])).exitCode).toBe(0)
    expect(await listed(home)).toEqual([])
  })

  it.each([
    [['trust', '--list', '--remove'], 2, '--list takes no folder'],
    [['trust', '--list', 'x'], 2, '--list takes no folder'],
    [['trust', '--remove', 'x'], 1, 'is not trusted. npm start -- trust --list lists the trusted folders.'],
  ])('answers %j with one line', async (args, code, words) => {
    await using home = createHome()
    const { exitCode, stdout, stderr } = await home.run(args)
    expect(stderr).toContain(words)
    expect(stderr).toMatch(/^parley: [^\n]*\n$/)
    expect([exitCode, stdout]).toEqual([code, ''])
  })
})

it('show prints the loaded settings and the billing, if the agent reported them', () => {
  const state = { ...emptyState('ses_1', 'epo_1'), trusted: true, blocks: [], firstSeq: 1 }
  const connection = {
    connectionId: 'con_1',
    loaded: ['user', 'project'],
    credential: 'ANTHROPIC_API_KEY',
  }
  const lines = stateLines({ ...state, connection })
  expect(lines).toContain('Loaded: settings of user, project')
  expect(lines).toContain('Paid with: ANTHROPIC_API_KEY')
  expect(stateLines(state).join()).not.toMatch(/Loaded|Paid/)
})

describe('parley run --trust', () => {
  it('trusts the folder of a new or existing session, and show reports the trust', async () => {
    await using home = createHome()
    const app = folderIn(home, 'app')
    const run = (...more: string[]) => home.run(['run', 'demo', 'think', ...more])
    expect((await run('--cwd', 'app')).exitCode).toBe(0)
    expect((await home.run(['show', 'last'])).stdout).toContain('Trust: the folder is not trusted\n')
    expect((await run('--session', 'last', '--trust')).exitCode).toBe(0)
    expect(await listed(home)).toEqual([app])
    expect((await home.run(['show', 'last'])).stdout).toContain('Trust: the folder is trusted\n')

    const other = folderIn(home, 'other')
    expect((await run('--cwd', 'other', '--trust')).exitCode).toBe(0)
    expect(await listed(home)).toEqual([app, other])
    expect(JSON.parse((await home.run(['show', 'last', '--json'])).stdout)).toMatchObject({ trusted: true })
  })
})
