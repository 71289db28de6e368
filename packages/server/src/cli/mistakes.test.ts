import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ExportFormat, type SessionEvent } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { createHome } from './program-under-test.ts'

/** Matches the message of a usage error, which is one line for every command. The exit code is then 2. */
const oneLine = /^parley: [^\n]*\n$/

describe('an unknown agent', () => {
  it.each([
    ['run nope hello'],
    ['import nope'],
    ['import nope some-id'],
    ['sessions --agent nope'],
    ['sessions --agent nope --json'],
    ['sessions --waiting --agent nope'],
    ['agents install nope'],
    ['agents update nope'],
    ['agents remove nope'],
    ['agents doctor nope'],
  ])('in "%s" gives one line with the known agents, and exit code 2', async (line) => {
    await using home = createHome()
    const { exitCode, stdout, stderr } = await home.run(line.split(' '))
    expect(stderr).toMatch(oneLine)
    expect(stderr).toMatch(/^parley: There is no agent "nope"\. Known agents: claude, codex, .*, demo\.\n$/)
    expect([exitCode, stdout]).toEqual([2, ''])
  })

  it('in "acp --agent nope" gives one line with the known agents, and exit code 2', async () => {
    await using home = createHome()
    const { exitCode, stdout, stderr } = await home.start(['acp', '--agent', 'nope']).ended
    expect(stderr).toMatch(oneLine)
    expect(stderr).toMatch(/^parley: There is no agent "nope"\. Known agents: claude, codex, .*, demo\.\n$/)
    expect([exitCode, stdout]).toEqual([2, ''])
  })

  it('leads to a suggestion of the known agent with similar spelling', async () => {
    await using home = createHome()
    const { exitCode, stderr } = await home.run(['run', 'demmo', 'hello'])
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(oneLine)])
    expect(stderr).toMatch(/^parley: There is no agent "demmo"\. Known agents: .*\. Did you mean demo\?\n$/)
  })

  it('is looked up on the running server', async () => {
    await using home = createHome()
    await home.serve()
    for (const line of ['acp --agent nope', 'sessions --agent nope', 'run nope hello']) {
      const { exitCode, stderr } = await home.start(line.split(' '), { input: '' }).ended
      expect([line, exitCode]).toEqual([line, 2])
      expect(stderr).toMatch(oneLine)
    }
    expect((await home.run(['sessions', '--agent', 'codex'])).exitCode).toBe(0)
  })
})

describe('an unknown session', () => {
  it.each([
    ['show'],
    ['export'],
    ['attach'],
    ['cancel'],
    ['resume'],
    ['delete'],
    ['run demo hello --session'],
  ])('in "%s nope" is reported first, with exit code 1', async (line) => {
    await using home = createHome()
    const { exitCode, stdout, stderr } = await home.run([...line.split(' '), 'nope'])
    expect(stderr).toBe('parley: There is no session "nope". List them with: npm start -- sessions\n')
    expect([exitCode, stdout]).toEqual([1, ''])
  })

  it('delete of an existing session needs --yes if nobody can confirm', async () => {
    await using home = createHome()
    await home.run(['run', 'demo', 'help'])
    const refused = await home.run(['delete', 'last'])
    expect([refused.exitCode, refused.stderr]).toEqual([
      2,
      'parley: Not a terminal: pass --yes to confirm the deletion.\n',
    ])
    expect((await home.run(['delete', 'last', '--yes'])).exitCode).toBe(0)
  })
})

describe('a data folder without data', () => {
  it.each([
    ['sessions'],
    ['rules'],
    ['rules remove rule_1'],
    ['show last'],
    ['export last'],
    ['attach last'],
    ['cancel last'],
    ['archive last'],
    ['delete last --yes'],
    ['run demo hello --session last'],
    ['agents'],
    ['import demo'],
    ['trust --list'],
    ['env'],
    ['devices'],
    ['people'],
    ['people invite --role viewer'],
    ['nodes'],
    ['token'],
    ['token create ci'],
    ['token list'],
    ['whoami'],
  ])('is not created by "%s", which fails with advice and exit code 2', async (line) => {
    await using home = createHome()
    const folder = join(home.folder, 'mistyped')
    const { exitCode, stdout, stderr } = await home.run([...line.split(' '), '--data-dir', 'mistyped'])
    expect(stderr).toBe(
      `parley: There is no Parley data in ${folder}. Check the path (--data-dir or PARLEY_DATA_DIR). To create the folder, start a server: npm start -- serve --data-dir ${folder}\n`,
    )
    expect([exitCode, stdout, existsSync(folder)]).toEqual([2, '', false])
  })

  it('that PARLEY_DATA_DIR names, or that has other files only, is left unchanged', async () => {
    await using home = createHome()
    mkdirSync(join(home.folder, 'project'))
    writeFileSync(join(home.folder, 'project/notes.txt'), '')
    const env = { PARLEY_DATA_DIR: 'project' }
    expect((await home.run(['sessions'], { env })).exitCode).toBe(2)
    expect(readdirSync(join(home.folder, 'project'))).toEqual(['notes.txt'])
  })

  it.each([['demo/'], ['agents/'], ['token/'], ['tokenizer.py'], ['parley.sqlite.owner.json']])(
    'that has only %s is left unchanged',
    async (name) => {
      await using home = createHome()
      const folder = join(home.folder, 'project')
      mkdirSync(folder, { mode: 0o755 })
      if (name.endsWith('/')) mkdirSync(join(folder, name))
      else writeFileSync(join(folder, name), '')
      const { exitCode, stderr } = await home.run(['sessions', '--data-dir', 'project'])
      expect(stderr).toContain('There is no Parley data')
      expect(exitCode).toBe(2)
      expect(readdirSync(folder)).toEqual([name.replace('/', '')])
      expect(statSync(folder).mode & 0o777).toBe(0o755)
    },
  )

  it.each(['token', 'config.json'])('that has only the file %s of Parley is used', async (name) => {
    await using home = createHome()
    mkdirSync(join(home.folder, 'project'))
    const text = name === 'token' ? 'a-token-of-at-least-16-characters' : '{"port":0}'
    writeFileSync(join(home.folder, 'project', name), text, { mode: 0o600 })
    expect(await home.run(['sessions', '--data-dir', 'project'])).toMatchObject({ exitCode: 0 })
  })

  it('is created by a command that stores something', async () => {
    await using home = createHome()
    const given = ['--data-dir', 'new']
    expect((await home.run(['run', 'demo', 'help', ...given])).exitCode).toBe(0)
    expect((await home.run(['sessions', ...given])).stdout).toContain('demo')
  })
})

describe('an agent that is not installed', () => {
  it('and that Parley does not install is reported once, with the address of its install guide', async () => {
    await using home = createHome()
    const env = { PATH: home.folder }
    const guide = 'To install it, see https://goose-docs.ai/docs/getting-started/installation'
    const run = await home.run(['run', 'goose', 'hello'], { env })
    expect([run.exitCode, run.stderr]).toEqual([1, `parley: Goose was not found. ${guide}\n`])
    const install = await home.run(['agents', 'install', 'goose'], { env })
    expect(install.stderr).toBe(`parley: Parley does not install Goose. ${guide}\n`)
  })

  it('run creates no session, prints the command that installs the agent, and exits with 1', async () => {
    await using home = createHome()
    const env = { PATH: home.folder }
    const { exitCode, stdout, stderr } = await home.run(['run', 'codex', 'hello'], { env })
    expect(stderr).toBe('parley: Codex was not found. Install it: npm start -- agents install codex\n')
    expect([exitCode, stdout]).toEqual([1, ''])
    const { stdout: sessions } = await home.run(['sessions', '--json'])
    expect(sessions).toBe('')
    const doctor = await home.run(['agents', 'doctor', 'codex'], { env })
    expect(doctor.stdout).toMatch(/^fail found +not found\. Install it: npm start -- agents install codex$/m)
  })
})

describe('an agent that is not signed in', () => {
  it('run reports it once, with the path of an existing program, and exits with 1', async () => {
    await using home = createHome()
    const { exitCode, stdout, stderr } = await home.run(['run', 'claude', 'hello'])
    expect([exitCode, stdout]).toEqual([1, ''])
    expect(stderr.match(/not signed in/g)).toHaveLength(1)
    expect(stderr).not.toMatch(/agent_|npm install|disconnected/)
    const [, program = ''] = /with the program itself: (\S+) auth login$/m.exec(stderr) ?? []
    expect(existsSync(program)).toBe(true)

    const reported = await home.run(['run', 'claude', 'hello', '--json'])
    const events = reported.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as SessionEvent)
    const code = 'agent_not_signed_in'
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'agent.disconnected', error: expect.objectContaining({ code }) }),
    )
    expect(events.at(-1)).toMatchObject({ type: 'turn.ended', outcome: 'failed', error: { code } })
  })
})

describe('an agent that does not start', () => {
  it('run prints the reason and the session that keeps the prompt, and exits with 1', async () => {
    await using home = createHome()
    mkdirSync(home.dataDir, { recursive: true })
    const ends = ['-e', 'console.error("no configuration"); process.exit(3)']
    const agents = { tiny: { command: process.execPath, args: ends } }
    writeFileSync(join(home.dataDir, 'config.json'), JSON.stringify({ agents }))
    const { exitCode, stdout, stderr } = await home.run(['run', 'tiny', 'hello'])
    expect([exitCode, stdout]).toEqual([1, ''])
    expect(stderr).toContain('tiny could not be started.')
    expect(stderr).toContain('    no configuration\n')
    const [, id = ''] = /^parley: the prompt is kept in the session (ses_\w+)$/m.exec(stderr) ?? []
    expect(stderr).toContain(`see it: npm start -- show ${id}\n`)
    expect((await home.run(['show', id])).stdout).toContain('› hello')
    const again = await home.run(['run', 'tiny', 'hello', '--session', id])
    expect(again.stderr).not.toContain('is kept')
  })
})

describe('a prompt that is refused', () => {
  it('run leaves no empty session behind', async () => {
    await using home = createHome()
    const { exitCode, stderr } = await home.run(['run', 'demo', '-'], { input: 'x'.repeat(13 * 1024 * 1024) })
    expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/^parley: .* larger than .*\n$/)])
    expect((await home.run(['sessions', '--all', '--json'])).stdout).toBe('')
  })
})

describe('export', () => {
  it('offers every format that the server knows', async () => {
    await using home = createHome()
    const help = (await home.run(['export', '--help'])).stdout
    const refused = await home.run(['export', 'last', '--as', 'pdf'])
    expect(refused.exitCode).toBe(2)
    for (const format of ExportFormat.options) {
      expect(help).toContain(format)
      expect(refused.stderr).toContain(format)
    }
    await home.run(['run', 'demo', 'help'])
    const { exitCode, stdout } = await home.run(['export', 'last', '--as', 'ui-messages'])
    expect(exitCode).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject([{ role: 'user' }, { role: 'assistant' }])
  })
})

describe('a wrong argument', () => {
  it.each([
    ['agents doctor', 'agents doctor --help'],
    ['agents install', 'agents install --help'],
    ['agents remove --fast demo', 'agents remove --help'],
    ['agents --fast', 'agents --help'],
    ['show', 'show --help'],
  ])('of "%s" gets a hint at the help of that command', async (line, help) => {
    await using home = createHome()
    const { exitCode, stderr } = await home.run(line.split(' '))
    expect(stderr).toMatch(oneLine)
    expect(stderr.endsWith(`See: npm start -- ${help}\n`)).toBe(true)
    expect(exitCode).toBe(2)
  })
})

describe('a group of commands', () => {
  it.each([
    ['audit', 'head, export or keys'],
    ['service', 'install, status, logs or uninstall'],
  ])('"%s" without a subcommand prints the help and names the subcommands', async (group, names) => {
    await using home = createHome()
    const { exitCode, stderr } = await home.run([group])
    expect([exitCode, stderr.split('\n').at(-2)]).toEqual([
      2,
      `parley: "${group}" needs another word: ${names}.`,
    ])
    expect(stderr).toContain(`Usage: npm start -- ${group} [options] [command]`)
  })
})

describe('the help', () => {
  it.each([[''], ['run'], ['retention'], ['service install'], ['pair']])(
    'of "%s" fits into 80 columns, except for its examples',
    async (command) => {
      await using home = createHome()
      const { stdout } = await home.run([...command.split(' ').filter(Boolean), '--help'])
      const wide = stdout.split('\n').filter((line) => line.length > 80 && !line.startsWith('  $ '))
      expect([stdout.length > 500, wide]).toEqual([true, []])
    },
  )

  it('shows how to write to a file without the output of npm', async () => {
    await using home = createHome()
    const { stdout } = await home.run(['completions', '--help'])
    expect(stdout).toContain('$ npm start --silent -- completions bash >> ~/.bashrc\n')
  })
})

describe('a folder that does not exist', () => {
  it.each([['run demo hello --cwd nowhere'], ['trust nowhere']])(
    'in "%s" is reported with the same message',
    async (line) => {
      await using home = createHome()
      const { exitCode, stderr } = await home.run(line.split(' '))
      expect([exitCode, stderr]).toEqual([
        2,
        `parley: The folder ${home.folder}/nowhere does not exist. Give an existing one.\n`,
      ])
    },
  )
})

describe('doctor', () => {
  it('puts agents that are not set up on one line, and warns of problems with configured agents', async () => {
    await using home = createHome()
    const env = { PATH: home.folder }
    const { exitCode, stdout } = await home.run(['doctor', '--port', '0'], { env })
    // This PATH has neither git nor npm.
    expect(stdout).not.toMatch(/^(warn|fail) (?!git |npm )/m)
    expect(stdout.match(/^info other .*$/gm)).toEqual([
      expect.stringMatching(
        /^info other agents +not set up: claude \(not signed in\), codex, .*\. What each one needs: npm start -- agents$/,
      ),
    ])
    expect(stdout).toMatch(/^ok +agent demo/m)
    expect(exitCode).toBe(0)

    mkdirSync(home.dataDir, { mode: 0o700 })
    const mine = { command: process.execPath, args: ['-e', 'process.exit(3)'] }
    const config = { agents: { mine, codex: { env: { OPENAI_API_KEY: 'placeholder' } } } }
    writeFileSync(join(home.dataDir, 'config.json'), JSON.stringify(config))
    const asked = await home.run(['doctor', '--port', '0'], { env })
    expect(asked.stdout.match(/^(warn|fail) (?!git |npm ).*$/gm)).toEqual([
      expect.stringMatching(/^warn agent codex +not found\. Install it: npm start -- agents install codex$/),
      expect.stringMatching(/^warn agent mine +cannot be used\. .*ended with code 3/),
    ])
    expect(asked.exitCode).toBe(0)
    const listed = await home.run(['agents'], { env })
    expect(listed.stdout).toMatch(/^mine +unusable +- +- +\S+ +mine could not be started\. .*code 3/m)
  })
})
