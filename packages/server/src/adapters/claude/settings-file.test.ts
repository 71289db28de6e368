import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { folderForTest } from '../../testing/temporary-folder.ts'
import { grantsOfFolder, settingsIn } from './settings.ts'
import { grantedBySettings } from './will-ask.ts'

const settings = { permissions: { allow: ['Bash(npm test:*)'] } }

function folderWith(make: (file: string) => void) {
  const folder = folderForTest()
  mkdirSync(join(folder, '.claude'))
  const file = join(folder, '.claude', 'settings.json')
  make(file)
  return { folder, file }
}

it('settings are read from a file, even through a link', () => {
  const { file } = folderWith((path) => {
    writeFileSync(`${path}.real`, JSON.stringify(settings))
    symlinkSync(`${path}.real`, path)
  })
  expect(settingsIn(file)).toEqual({ settings, isUnclear: false })
})

it('settings are not read from a pipe, which could block the whole server', () => {
  const { folder, file } = folderWith((path) => {
    execFileSync('mkfifo', [path])
    // Writes to the pipe, so that a read of the pipe fails the test instead of blocking it.
    const writer = spawn('sh', [
      '-c',
      'while :; do printf %s "$1" > "$0"; done',
      path,
      JSON.stringify(settings),
    ])
    onTestFinished(() => void writer.kill('SIGKILL'))
  })
  expect(settingsIn(file)).toEqual({ settings: {}, isUnclear: true })
  expect(grantsOfFolder(true, folder)).toEqual({})
  expect(grantedBySettings({}, folder, ['project'])).toEqual(new Set())
})

it.each([
  ['text that is not JSON', '{'],
  ['a value that is not an object', '1'],
])('settings are unclear if the file contains %s, but not if the file is missing', (_what, text) => {
  const { file } = folderWith((path) => writeFileSync(path, text))
  expect(settingsIn(file)).toEqual({ settings: {}, isUnclear: true })
  expect(settingsIn(`${file}.missing`)).toEqual({ settings: {}, isUnclear: false })
})
