import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { createHome, type Home } from './program-under-test.ts'

/** A data folder with old data, and a backup with other data. */
async function homeWithBackup() {
  const home = createHome()
  onTestFinished(() => home[Symbol.asyncDispose]())
  const file = join(home.folder, 'backup.tar.gz')
  const [old, other] = [join(home.folder, 'old'), join(home.folder, 'other')]
  for (const [dataDir, title] of [
    [old, 'old'],
    [other, 'new'],
  ] as const) {
    mkdirSync(dataDir)
    writeFileSync(join(dataDir, 'config.json'), JSON.stringify({ place: title }))
    for (let n = 0; n < 3; n++)
      expect(
        (await home.run(['run', 'demo', 'help', '--title', title, '--data-dir', dataDir])).exitCode,
      ).toBe(0)
  }
  // A larger database takes longer, so that kills hit every step.
  using db = new DatabaseSync(join(other, 'parley.sqlite'))
  db.exec(`INSERT INTO receipts WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n LIMIT 400)
    SELECT 0, value, 'x', hex(randomblob(20000)) FROM n`)
  db.close()
  expect((await home.run(['backup', file, '--data-dir', other])).exitCode).toBe(0)
  return { home, old, file }
}

/** The content of a data folder: the titles of its sessions, and the place in its configuration. */
async function contentOf(home: Home, dataDir: string): Promise<string> {
  const { stdout, stderr, exitCode } = await home.run(['sessions', '--json', '--data-dir', dataDir])
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
  const titles = stdout
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { title: string }).title)
  const { place } = JSON.parse(readFileSync(join(dataDir, 'config.json'), 'utf8')) as { place: string }
  using db = new DatabaseSync(join(dataDir, 'parley.sqlite'))
  expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
  return [...titles, place].join(' ')
}

const [oldContent, newContent] = ['old old old old', 'new new new new']

it('a restore that is killed at any time leaves either the old or the new data, and can be repeated', async () => {
  const { home, old, file } = await homeWithBackup()
  expect(await contentOf(home, old)).toBe(oldContent)
  const dataDir = join(home.folder, 'killed')
  const restore = () => {
    rmSync(dataDir, { recursive: true, force: true })
    cpSync(old, dataDir, { recursive: true })
    return home.start(['restore', file, '--yes', '--data-dir', dataDir])
  }
  const whole = restore()
  expect((await whole.ended).exitCode).toBe(0)
  expect(await contentOf(home, dataDir)).toBe(newContent)
  const bytes = statSync(join(dataDir, 'parley.sqlite')).size
  const staged = (name: string) => join(dataDir, 'restore.partial', name)
  const sizeOf = (name: string) => statSync(staged(name), { throwIfNoEntry: false })?.size ?? -1
  const moments = [
    () => existsSync(staged('.')),
    ...[0.2, 0.6, 1].map((part) => () => sizeOf('parley.sqlite') >= bytes * part),
    () => existsSync(staged('config.json')),
    () => existsSync(staged('parley.sqlite.owner.json')),
    () => existsSync(join(dataDir, 'restore.ready')),
    () => readFileSync(join(dataDir, 'config.json'), 'utf8').includes('new'),
  ]

  const seen = new Set<string>()
  for (const isReached of moments) {
    const { child, ended } = restore()
    while (child.exitCode === null && !isReached()) await setImmediate()
    child.kill('SIGKILL')
    await ended
    const content = await contentOf(home, dataDir)
    expect([oldContent, newContent]).toContain(content)
    seen.add(content)
    const again = await home.run(['restore', file, '--yes', '--data-dir', dataDir])
    expect(again.exitCode).toBe(0)
    expect(await contentOf(home, dataDir)).toBe(newContent)
    expect(readdirSync(dataDir).filter((name) => name.startsWith('restore.'))).toEqual([])
  }
  expect(seen).toContain(oldContent)
})

it('a command completes a restore that was killed at any step after its point of no return', async () => {
  const { home, old, file } = await homeWithBackup()
  const restored = join(home.folder, 'restored')
  expect((await home.run(['restore', file, '--data-dir', restored])).exitCode).toBe(0)
  for (const moved of [[], ['parley.sqlite'], ['config.json'], ['config.json', 'parley.sqlite']]) {
    const dataDir = join(home.folder, `killed-${moved.length}-${moved[0]}`)
    cpSync(old, dataDir, { recursive: true })
    const ready = join(dataDir, 'restore.ready')
    mkdirSync(ready)
    for (const name of ['config.json', 'parley.sqlite']) cpSync(join(restored, name), join(ready, name))
    for (const name of moved) renameSync(join(ready, name), join(dataDir, name))
    expect(await contentOf(home, dataDir)).toBe(newContent)
    expect(existsSync(ready)).toBe(false)
  }
})
