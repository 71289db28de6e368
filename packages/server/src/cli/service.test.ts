import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { createHome } from './program-under-test.ts'
import { createStandIns } from './service-manager-under-test.ts'

const program = new URL('../../bin/parley.js', import.meta.url).pathname

function homeWithSystemd() {
  const home = createHome()
  onTestFinished(() => home[Symbol.asyncDispose]())
  const system = createStandIns(home.folder)
  onTestFinished(() => system.killService())
  const run = (args: readonly string[], env: Record<string, string> = {}) =>
    home.run(['service', ...args], { env: { PATH: system.path, ...env } })
  return { home, system, run }
}

const port = ['--', '--port', '0']

it('service install starts a server that answers, and prints neither a link nor a token', async () => {
  const { home, system, run } = homeWithSystemd()
  const { exitCode, stdout, stderr } = await run(['install', '--json', ...port])
  expect(stderr).toBe('')
  expect(exitCode).toBe(0)
  const { url, changed, file } = JSON.parse(stdout)
  expect({ changed, file }).toEqual({ changed: true, file: system.unit() })
  expect((await (await fetch(`${url}/api/health`)).json()).ok).toBe(true)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const unit = readFileSync(file, 'utf8')
  expect(unit).toContain(
    `ExecStart="${process.execPath}" "--conditions=source" "${program}" "serve" "--quiet"`,
  )
  expect(unit).not.toContain(readFileSync(`${home.dataDir}/token`, 'utf8').trim())
  expect(system.calls().join('\n')).not.toContain('enable-linger')
})

it('a repeated service install changes nothing and keeps options, and it replaces the unit of another version', async () => {
  const { system, run } = homeWithSystemd()
  await run(['install', '--env', 'GREETING', ...port], { GREETING: '100% $HOME' })
  const first = system.pid()
  const unit = readFileSync(system.unit(), 'utf8')
  expect(unit).toContain('Environment="GREETING=100%% $HOME"')

  const again = await run(['install', '--json'])
  expect(JSON.parse(again.stdout).changed).toBe(false)
  expect(system.pid()).toBe(first)

  writeFileSync(system.unit(), unit.replaceAll('0.1.0', '0.0.9'))
  expect(JSON.parse((await run(['status', '--json'])).stdout)).toMatchObject({
    state: 'running',
    current: false,
  })
  expect(JSON.parse((await run(['install', '--json'])).stdout).changed).toBe(true)
  expect(readFileSync(system.unit(), 'utf8')).toBe(unit)
  expect(system.pid()).not.toBe(first)
})

it('service status reports whether the server runs, in its output and its exit code', async () => {
  const { system, run } = homeWithSystemd()
  const none = await run(['status'])
  expect(none).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('service install') })
  await run(['install', '--at-boot', ...port])
  expect(system.calls()).toContain('loginctl enable-linger')
  const status = await run(['status', '--json'])
  expect(status.exitCode).toBe(0)
  expect(JSON.parse(status.stdout)).toMatchObject({
    installed: true,
    ...{ manager: 'systemd', state: 'running', enabled: true, atBoot: true, current: true },
    ...{ pid: system.pid(), url: expect.stringMatching(/^http:/) },
  })
  system.killService()
  const failed = await run(['status'])
  expect(failed.exitCode).toBe(1)
  expect(failed.stdout).toMatch(/^failed, signal\nits server does not answer\n/)
})

it('service uninstall stops the server and keeps the data; a second call reports that no service is installed', async () => {
  const { home, system, run } = homeWithSystemd()
  await run(['install', ...port])
  const removed = await run(['uninstall'])
  expect(removed.stderr).toContain(`The data stays in ${home.dataDir}`)
  expect(existsSync(system.unit())).toBe(false)
  expect(system.pid()).toBeUndefined()
  expect(existsSync(`${home.dataDir}/parley.sqlite`)).toBe(true)
  const again = await run(['uninstall', '--json'])
  expect(JSON.parse(again.stdout)).toEqual({ removed: false, file: system.unit() })
})

it('service install refuses while another server uses the data folder, and changes nothing', async () => {
  const { home, system, run } = homeWithSystemd()
  const { running } = await home.serve()
  const { exitCode, stderr } = await run(['install', ...port])
  expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringContaining('is not the service') })
  expect(existsSync(system.unit())).toBe(false)
  running.child.kill('SIGTERM')
  await running.ended
})

it('service install reports a server that does not start, and names the log', async () => {
  const { run } = homeWithSystemd()
  const { exitCode, stderr } = await run(['install', '--', '--port', 'none'])
  expect(exitCode).toBe(1)
  expect(stderr).toMatch(/does not answer: failed \(signal\)\. See: .*service logs/)
})

it('each data folder has a service of its own', async () => {
  const { home, system, run } = homeWithSystemd()
  const { stdout } = await run(['install', '--json', '--data-dir', `${home.folder}/other`, ...port])
  const { file } = JSON.parse(stdout)
  expect(file).toMatch(/parley-[0-9a-f]{8}\.service$/)
  expect(existsSync(system.unit())).toBe(false)
  expect((await run(['status'])).exitCode).toBe(1)
  expect((await run(['status', '--data-dir', `${home.folder}/other`])).exitCode).toBe(0)
})

it('service logs prints the log of the unit', async () => {
  const { system, run } = homeWithSystemd()
  const { stdout, exitCode } = await run(['logs', '--lines', '5'])
  expect({ stdout, exitCode }).toEqual({ stdout: 'a line of the log\n', exitCode: 0 })
  expect(system.calls()).toEqual(['journalctl --user --user-unit=parley.service --lines=5 --no-pager'])
})

it('without a systemd of the user, the error contains advice', async () => {
  const { system, run } = homeWithSystemd()
  const { exitCode, stderr } = await run(['install', ...port], { NO_USER_SYSTEMD: '1' })
  expect({ exitCode, stderr }).toEqual({
    exitCode: 2,
    stderr: expect.stringContaining('Log in as that user'),
  })
  expect(existsSync(system.unit())).toBe(false)
})

it('service install --print shows the unit and writes nothing', async () => {
  const { system, run } = homeWithSystemd()
  const { stdout } = await run(['install', '--print'])
  expect(stdout).toContain('[Service]\nType=exec\n')
  expect(existsSync(system.unit())).toBe(false)
  expect(system.calls()).toEqual([])
})
