import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { folderForTest } from '../testing/temporary-folder.ts'
import type { Check } from './checks.ts'
import { clockCheck } from './doctor-machine.ts'
import { createHome } from './program-under-test.ts'
import { createStandIns } from './service-manager-under-test.ts'

function homeForTest() {
  const home = createHome()
  onTestFinished(() => home[Symbol.asyncDispose]())
  const doctor = async (env: Record<string, string> = {}) => {
    const { stdout, exitCode } = await home.run(['doctor', '--json', '--port', '0'], { env })
    const checks = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Check)
    return { exitCode, check: (name: string) => checks.find((check) => check.name === name) }
  }
  return { home, doctor }
}

it('doctor checks git, npm, the disk, the sizes and the clock', async () => {
  const { doctor } = homeForTest()
  const { exitCode, check } = await doctor()
  expect(exitCode).toBe(0)
  expect(check('git')).toMatchObject({ result: 'ok', text: expect.stringMatching(/^2\.\d+/) })
  expect(check('npm')).toMatchObject({ result: 'ok' })
  expect(check('disk')).toMatchObject({ text: expect.stringMatching(/[MG]B free for /) })
  expect(check('sizes')).toMatchObject({ result: 'info', text: 'database 0.0 MB' })
  expect(check('clock')).toMatchObject({ result: 'ok' })
  expect(check('service')).toMatchObject({ result: 'info' })
})

it('doctor warns if git is missing or too old, and names the consequence', async () => {
  const { home, doctor } = homeForTest()
  const bin = join(home.folder, 'bin')
  mkdirSync(bin)
  expect((await doctor({ PATH: bin })).check('git')).toMatchObject({
    result: 'warn',
    text: expect.stringMatching(/Install git/),
  })
  writeFileSync(join(bin, 'git'), '#!/bin/sh\necho git version 2.30.2\n', { mode: 0o755 })
  expect((await doctor({ PATH: bin })).check('git')).toMatchObject({
    result: 'warn',
    text: expect.stringMatching(/2\.38 or newer/),
  })
  writeFileSync(join(bin, 'git'), '#!/bin/sh\necho broken >&2; exit 3\n', { mode: 0o755 })
  expect((await doctor({ PATH: bin })).check('git')).toMatchObject({
    result: 'warn',
    text: expect.stringMatching(/broken/),
  })
})

it('doctor fails if the installed service failed, and warns if another version installed it', async () => {
  const { home, doctor } = homeForTest()
  const system = createStandIns(home.folder)
  onTestFinished(() => system.killService())
  const env = { PATH: system.path }
  expect((await home.run(['service', 'install', '--', '--port', '0'], { env })).exitCode).toBe(0)
  expect((await doctor(env)).check('service')).toMatchObject({
    result: 'ok',
    text: expect.stringMatching(/^running \(pid/),
  })
  system.changeUnit((unit) => unit.replaceAll('0.1.0', '0.0.9'))
  expect((await doctor(env)).check('service')).toMatchObject({
    result: 'warn',
    text: expect.stringMatching(/version 0\.0\.9/),
  })
  system.killService()
  const failed = await doctor(env)
  expect(failed.exitCode).toBe(1)
  expect(failed.check('service')).toMatchObject({
    result: 'fail',
    text: expect.stringMatching(/service logs/),
  })
})

it('a clock that was set back, or that shows an impossible time, is reported', () => {
  const folder = folderForTest()
  const now = Date.now()
  expect(clockCheck(folder, now).result).toBe('ok')
  expect(clockCheck(folder, 0)).toMatchObject({ result: 'fail', text: expect.stringContaining('1970') })
  const file = join(folder, 'parley.sqlite')
  writeFileSync(file, '')
  const later = now / 1000 + 3600
  utimesSync(file, later, later)
  expect(clockCheck(folder, now)).toMatchObject({ result: 'warn', text: expect.stringContaining('set back') })
})
