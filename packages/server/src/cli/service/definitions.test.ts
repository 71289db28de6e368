import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { folderForTest } from '../../testing/temporary-folder.ts'
import { launchdAgent, recordOfAgent } from './launchd-agent.ts'
import { planService, type ServicePlan } from './service-plan.ts'
import { recordOfUnit, systemdUnit } from './systemd-unit.ts'

const odd = `it's "quoted" 50% $HOME <b> & é \\n`

function planIn(folder: string, options: readonly string[] = []): ServicePlan {
  mkdirSync(folder, { recursive: true })
  symlinkSync(process.execPath, join(folder, 'node'))
  return planService({
    program: [join(folder, 'node'), '--conditions=source', join(folder, 'parley.js')],
    dataDir: join(folder, 'data'),
    isDefaultDataDir: false,
    env: { PATH: `${folder}:/usr/bin`, PROXY: 'http://user:50%@proxy', HIDDEN: 'not captured' },
    options,
    names: ['PROXY'],
  })
}

it('a service that npm installs does not get the folders that npm adds to the PATH of its scripts', () => {
  const folder = folderForTest()
  const added = '/home/ada/project/node_modules/.bin:/tmp/node_modules/.bin:/npm/node-gyp-bin'
  const planned = (env: Record<string, string>) =>
    planService({
      program: [join(folder, 'node'), join(folder, 'parley.js')],
      dataDir: join(folder, 'data'),
      isDefaultDataDir: false,
      env: { PATH: `${added}:/usr/local/bin:/usr/bin`, ...env },
    }).variables.PATH
  expect(planned({ npm_lifecycle_event: 'start' })).toBe('/usr/local/bin:/usr/bin')
  expect(planned({})).toBe(`${added}:/usr/local/bin:/usr/bin`)
})

/** Checks a unit with systemd's own parser. Returns the units as systemd understands them. */
function verify(unit: string): { readonly stderr: string; readonly parsed: string } {
  const folder = folderForTest()
  const file = join(folder, 'parley.service')
  writeFileSync(file, unit)
  chmodSync(folder, 0o700)
  const env = { PATH: process.env.PATH, XDG_RUNTIME_DIR: folder }
  const run = (more: NodeJS.ProcessEnv) =>
    spawnSync('systemd-analyze', ['verify', '--user', file], { env: { ...env, ...more }, encoding: 'utf8' })
  return { stderr: run({}).stderr, parsed: run({ SYSTEMD_LOG_LEVEL: 'debug' }).stdout }
}

it('systemd accepts the unit of a usual installation without a warning, and runs Node directly', () => {
  const folder = folderForTest()
  const { stderr, parsed } = verify(systemdUnit(planIn(join(folder, 'app'), ['--port', '8080'])))
  expect(stderr).toBe('')
  expect(parsed).toContain(
    `Command Line: ${folder}/app/node --conditions=source ${folder}/app/parley.js serve --quiet --data-dir ${folder}/app/data --port 8080`,
  )
  for (const setting of [
    'KillMode: mixed',
    'Restart: on-failure',
    'TimeoutStopSec: 30s',
    'OOMPolicy: continue',
  ])
    expect(parsed).toContain(setting)
})

it('systemd reads spaces, quotes, backslashes, % and $ in paths, options and variables unchanged', () => {
  const folder = join(folderForTest(), odd)
  const { stderr, parsed } = verify(systemdUnit(planIn(folder, [';', odd])))
  expect(stderr).toBe('')
  expect(parsed).toContain(`Environment: PATH=${folder}:/usr/bin\n`)
  expect(parsed).toContain('Environment: PROXY=http://user:50%@proxy\n')
  expect(parsed).not.toContain('not captured')
  const line = /Command Line: (.*)/.exec(parsed)?.[1] ?? ''
  // systemd replaces $$ by $ when it starts the command, and prints the line as a shell would read it.
  const words = execFileSync('bash', ['-c', `printf '%s\\n' ${line}`], { encoding: 'utf8' })
    .trimEnd()
    .split('\n')
  expect(words.map((word) => word.replaceAll('$$', '$'))).toEqual([
    ...['/bin/sh', '-c', 'exec "$0" "$@"'],
    ...[join(folder, 'node'), '--conditions=source', join(folder, 'parley.js'), 'serve', '--quiet'],
    ...['--data-dir', join(folder, 'data'), ';', odd],
  ])
})

it('the record in a unit is read as it was written', () => {
  const plan = planIn(join(folderForTest(), odd), [odd, '%h'])
  expect(recordOfUnit(systemdUnit(plan))).toEqual(plan.record)
  expect(recordOfAgent(launchdAgent(plan, '/log'))).toEqual(plan.record)
})

const readPlist = `import json, plistlib, sys
print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))`

it("Python's plistlib reads the property list for launchd, with special characters unchanged", () => {
  const folder = join(folderForTest(), odd)
  const plan = planIn(folder, [odd])
  const text = launchdAgent(plan, join(folder, 'log'))
  const read = execFileSync('python3', ['-c', readPlist], { input: text, encoding: 'utf8' })
  expect(JSON.parse(read)).toEqual({
    Label: plan.name,
    ParleyService: JSON.stringify(plan.record),
    ProgramArguments: plan.command,
    EnvironmentVariables: plan.variables,
    RunAtLoad: true,
    KeepAlive: { SuccessfulExit: false },
    ThrottleInterval: 5,
    ExitTimeOut: 30,
    Umask: 0o077,
    StandardOutPath: join(folder, 'log'),
    StandardErrorPath: join(folder, 'log'),
  })
})

it('the property list equals the recorded one', async () => {
  const plan: ServicePlan = {
    name: 'parley',
    command: [
      '/usr/local/bin/node',
      '/usr/local/bin/parley',
      'serve',
      '--quiet',
      '--data-dir',
      '/Users/me/.parley',
    ],
    variables: { PATH: '/usr/local/bin:/usr/bin' },
    record: { version: '1.0.0', options: [], env: {} },
  }
  const text = launchdAgent(plan, '/Users/me/Library/Logs/parley.log')
  await expect(text).toMatchFileSnapshot('./fixtures/parley.plist')
})

it.each([
  ['a token as an option', { options: ['--token', 'secret'] }, /"token" into config\.json/],
  ['a database URL as an option', { options: ['--database-url=postgres://u:p@db/x'] }, /"databaseUrl"/],
  ['another data folder as an option', { options: ['--data-dir', '/x'] }, /before --/],
  ['a token in the environment', { env: { PARLEY_TOKEN: 'secret' } }, /--env PARLEY_TOKEN/],
  ['a relative certificate', { env: { PARLEY_TLS_CERT: 'cert.pem' } }, /absolute path/],
  ['a variable that is not set', { names: ['NOT_SET'] }, /not "NOT_SET"/],
  ['a control character', { options: ['a\u0007b'] }, /control character/],
  ['a program in the cache of npx', { program: ['/n', '/h/.npm/_npx/1/parley'] }, /npm install --global/],
])('a plan with %s is refused with advice', (_, wish, message) => {
  const usual = { program: ['/node', '/parley'], dataDir: '/data', isDefaultDataDir: true, env: {} }
  expect(() => planService({ ...usual, ...wish })).toThrow(message)
})
