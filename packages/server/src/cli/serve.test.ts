import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createHome, type Running } from './program-under-test.ts'

async function stopped(running: Running, signal: NodeJS.Signals = 'SIGTERM') {
  running.child.kill(signal)
  return running.ended
}

describe('parley serve', () => {
  it('is the default command, and prints a sign-in link as its last line', async () => {
    await using home = createHome()
    const running = home.start(['--port', '0'])
    await running.until(/\/open#\S+\n/)
    const { stdout, exitCode } = await stopped(running, 'SIGINT').finally(() => undefined)
    const lines = stdout.trimEnd().split('\n')
    expect(stdout).not.toContain('other machines')
    expect(lines.at(-1)).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/open#\S+$/)
    expect(stdout).toContain(home.dataDir)
    expect(stdout).not.toContain('\u001b')
    expect(exitCode).toBe(0)
  })

  it('stores its compiled code for the next start before it is stopped', async () => {
    await using home = createHome()
    const cache = join(home.folder, 'cache')
    await home.serve([], { env: { NODE_COMPILE_CACHE: cache } })
    await expect.poll(() => readdirSync(cache, { recursive: true }).length).toBeGreaterThan(300)
  })

  it('prints one line of JSON with --json, and its token works', async () => {
    await using home = createHome()
    const { running, url, token, pid } = await home.serve()
    expect(pid).toBe(running.child.pid)
    const headers = { authorization: `Bearer ${token}` }
    expect((await fetch(`${url}/api/sessions`, { headers })).status).toBe(200)
    expect((await fetch(`${url}/api/sessions`)).status).toBe(401)
    const { exitCode, stdout, stderr } = await stopped(running)
    expect(exitCode).toBe(0)
    expect(stdout.trimEnd().split('\n')).toHaveLength(1)
    expect(stderr).not.toContain(token)
    for (const line of stderr.trimEnd().split('\n')) expect(JSON.parse(line)).toHaveProperty('msg')
  })

  it('keeps its token in a private file, and uses it again', async () => {
    await using home = createHome()
    const first = await home.serve()
    await stopped(first.running)
    const file = join(home.dataDir, 'token')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(statSync(home.dataDir).mode & 0o777).toBe(0o700)
    expect(readFileSync(file, 'utf8').trim()).toBe(first.token)
    const second = await home.serve()
    expect(second.token).toBe(first.token)
    expect((await stopped(second.running)).exitCode).toBe(0)
  })

  it('makes a data folder that others can read private, unless it contains other files', async () => {
    await using home = createHome()
    mkdirSync(home.dataDir, { mode: 0o755 })
    chmodSync(home.dataDir, 0o755)
    await home.run(['token'])
    expect(statSync(home.dataDir).mode & 0o777).toBe(0o700)
    const shared = join(home.folder, 'shared')
    mkdirSync(shared)
    chmodSync(shared, 0o755)
    writeFileSync(join(shared, 'notes.txt'), 'for all')
    const { running } = await home.serve(['--data-dir', shared])
    expect(statSync(shared).mode & 0o777).toBe(0o755)
    expect(statSync(join(shared, 'token')).mode & 0o777).toBe(0o600)
    expect((await stopped(running)).stderr).toContain(`other users can read ${shared}`)
  })

  it('takes the token from a file, and warns of a token that others can see', async () => {
    await using home = createHome()
    writeFileSync(join(home.folder, 'mine'), 'a-token-in-a-file\n', { mode: 0o600 })
    const quiet = await home.serve(['--token-file', 'mine'])
    expect(quiet.token).toBe('a-token-in-a-file')
    expect((await home.run(['sessions', '--token-file', 'mine'])).stderr).not.toContain('--token shows')
    const loud = await home.run(['sessions', '--token', 'a-token-in-a-file'])
    expect(loud).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('--token shows the token') })
    expect((await stopped(quiet.running)).stderr).not.toContain('--token shows')
    const { running } = await home.serve(['--token', 'a-token-in-sight'])
    expect((await stopped(running)).stderr).toContain('--token shows the token')
    expect(await home.run(['sessions', '--token-file', 'none'])).toMatchObject({ exitCode: 2 })
  })

  it('refuses a data folder that another server uses, and names that server', async () => {
    await using home = createHome()
    const { url, pid } = await home.serve()
    const { exitCode, stderr } = await home.start(['serve', '--port', '0']).ended
    expect(exitCode).toBe(1)
    expect(stderr).toContain(`pid ${pid}`)
    expect(stderr).toContain(url)
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
  })

  it('refuses a port that is in use, and says what to do', async () => {
    await using home = createHome()
    const { url } = await home.serve()
    const { exitCode, stderr } = await home.start(['--port', new URL(url).port, '--data-dir', 'other']).ended
    expect(exitCode).toBe(1)
    expect(stderr).toMatch(/^parley: .* is in use.*--port.*\n$/)
  })

  it('refuses a non-loopback address without an explicit token and --allow-remote', async () => {
    await using home = createHome()
    const { exitCode, stderr } = await home.run(['--host', '0.0.0.0', '--port', '0'])
    expect(exitCode).toBe(2)
    expect(stderr).toContain('--allow-remote and PARLEY_TOKEN')
    const args = ['--host', '0.0.0.0', '--allow-remote', '--token', 'a-token-of-my-own']
    const { running } = await home.serve(args)
    expect((await stopped(running)).exitCode).toBe(0)
    const short = await home.run([
      '--host',
      '0.0.0.0',
      '--allow-remote',
      '--token',
      'fifteen-letters',
      '--port',
      '0',
    ])
    expect(short.exitCode).toBe(2)
    expect(short.stderr).toMatch(/^parley: The token of --token is too short.*\n$/)
  })

  it('reports when other machines can reach it, and at which URLs', async () => {
    await using home = createHome()
    const args = ['--host', '0.0.0.0', '--allow-remote', '--token', 'a-token-of-my-own', '--port', '0']
    const running = home.start(args)
    await running.until(/\/open#\S+\n/)
    const { stdout } = await stopped(running)
    expect(stdout).toContain('can be reached from other machines')
    for (const entry of Object.values(networkInterfaces()).flat()) {
      if (entry?.family === 'IPv4' && !entry.internal) expect(stdout).toContain(`http://${entry.address}:`)
    }
  })

  it('public messages contain the command with which it was started, but not its data folder', async () => {
    await using home = createHome()
    const { url } = await home.serve(['--data-dir', 'kept-place'])
    const refused = await (await fetch(`${url}/api/sessions`)).text()
    expect(refused).toContain('npm start -- token --link')
    for (const path of ['/', '/open', '/api/sessions', '/api/ws', '/api/nothing', '/nothing']) {
      expect(await (await fetch(`${url}${path}`)).text()).not.toContain('kept-place')
    }
  })

  it('reads config.json, and refuses unknown keys', async () => {
    await using home = createHome()
    mkdirSync(home.dataDir)
    writeFileSync(join(home.dataDir, 'config.json'), '{"token":"a-token-from-the-file","colour":"red"}')
    const refused = await home.run(['--port', '0'])
    expect(refused.exitCode).toBe(2)
    expect(refused.stderr).toContain('"colour"')
    writeFileSync(join(home.dataDir, 'config.json'), '{"token":"a-token-from-the-file"}')
    const { running, token } = await home.serve()
    expect(token).toBe('a-token-from-the-file')
    await stopped(running)
  })

  it.each([
    [['--port', '70000'], {}, '--port takes a port from 0 to 65535'],
    [[], { PARLEY_DATABASE_URL: 'mysql://db' }, 'PARLEY_DATABASE_URL takes'],
    [['--prot', '1'], {}, 'Did you mean --port?'],
    [['srve'], {}, 'Did you mean serve?'],
    [['--data-dir', 'x', 'sessions'], {}, 'Put options after the command'],
    [['--allow-origin', 'nonsense'], {}, 'nonsense'],
  ])('answers %j with one line and exit code 2', async (args, env, words) => {
    await using home = createHome()
    const { exitCode, stdout, stderr } = await home.run(args, { env })
    expect(stderr).toContain(words)
    expect(stderr).toMatch(/^parley: [^\n]*\n$/)
    expect(stdout).toBe('')
    expect(exitCode).toBe(2)
  })

  it('reports a data folder that cannot be written', async () => {
    await using home = createHome()
    writeFileSync(join(home.folder, 'file'), '')
    const { exitCode, stderr } = await home.start(['--port', '0', '--data-dir', 'file']).ended
    expect(exitCode).toBe(1)
    expect(stderr).toMatch(/^parley: .*--data-dir\.\n$/)
  })

  it.each(['/etc/passwd/x', '/proc/nope', '/proc/nope/below'])('does not hang on %s', async (folder) => {
    await using home = createHome()
    const { exitCode, stderr } = await home.start(['--port', '0', '--data-dir', folder]).ended
    expect(exitCode).toBe(1)
    expect(stderr).toMatch(/^parley: The data folder .* cannot be created.*--data-dir\.\n$/)
    const doctor = await home.run(['doctor', '--port', '0', '--data-dir', folder])
    expect(doctor.exitCode).toBe(1)
    expect(doctor.stdout).toMatch(/^fail +data folder .*cannot be created/m)
  })
})

describe('parley token', () => {
  it('prints the token, even before there is a server', async () => {
    await using home = createHome()
    const { stdout } = await home.run(['token'])
    const { token } = await home.serve()
    expect(stdout).toBe(`${token}\n`)
  })

  it('asks the running server for a link', async () => {
    await using home = createHome()
    const none = await home.run(['token', '--link'])
    expect(none.exitCode).toBe(1)
    expect(none.stderr).toContain('No server uses')
    const { url } = await home.serve()
    const { stdout } = await home.run(['token', '--link'])
    expect(stdout).toMatch(new RegExp(`^${url}/open#[\\w-]{43}\n$`))
  })

  it('rotates the token; the running server keeps the old one', async () => {
    await using home = createHome()
    const { token } = await home.serve()
    const { stdout, stderr } = await home.run(['token', '--rotate'])
    expect(stdout.trim()).not.toBe(token)
    expect(stderr).toContain('restarted')
    const { exitCode, stderr: refused } = await home.run(['sessions'])
    expect(exitCode).toBe(1)
    expect(refused).toContain('another token')
    expect((await home.run(['sessions', '--token', token])).exitCode).toBe(0)
  })
})

describe('parley doctor', () => {
  it('finds nothing wrong on a new machine, and creates nothing', async () => {
    await using home = createHome()
    const { exitCode, stdout } = await home.run(['doctor', '--port', '0'])
    expect(exitCode).toBe(0)
    expect(stdout).not.toMatch(/^(warn|fail) /m)
    expect(statSync(home.dataDir, { throwIfNoEntry: false })).toBeUndefined()
  })

  it('finds the running server', async () => {
    await using home = createHome()
    const { url } = await home.serve()
    const { exitCode, stdout } = await home.run(['doctor', '--json'])
    const checks = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(checks.find(({ name }) => name === 'server')).toMatchObject({ result: 'ok' })
    expect(stdout).toContain(url)
    expect(exitCode).toBe(0)
  })

  it('warns of messages that were not understood, with and without a server', async () => {
    await using home = createHome()
    const { running } = await home.serve()
    const doctor = async () => {
      const { exitCode, stdout } = await home.run(['doctor', '--port', '0'])
      return { exitCode, warning: /^warn +messages of demo .*$/m.exec(stdout)?.[0] }
    }
    expect(await doctor()).toEqual({ exitCode: 0 })
    await home.run(['run', 'demo', 'unknown'])
    const { exitCode, warning } = await doctor()
    expect(exitCode).toBe(0)
    expect(warning).toMatch(
      / 1 message was not understood since 20\d\d-.*: from_the_future: no such native .* \(1\)\. Update Parley\. /,
    )
    running.child.kill()
    await running.ended
    expect(await doctor()).toEqual({ exitCode, warning })
  })

  it('warns of a token that others can read, and fails on a damaged database', async () => {
    await using home = createHome()
    await home.run(['token'])
    chmodSync(join(home.dataDir, 'token'), 0o644)
    writeFileSync(join(home.dataDir, 'parley.sqlite'), 'this is not a database, by any means'.repeat(50))
    const { exitCode, stdout } = await home.run(['doctor', '--port', '0'])
    expect(stdout).toMatch(/^warn +token .*chmod 600/m)
    expect(stdout).toMatch(/^fail +database/m)
    expect(exitCode).toBe(1)
  })
})
