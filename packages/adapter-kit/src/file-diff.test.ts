import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { folderForFile } from '../../server/src/testing/temporary-folder.ts'
import { readForDiff, replaceDiff, writeDiff } from './file-diff.ts'

const home = folderForFile()
const cwd = join(home, 'project')
const session = { cwd, settings: {} }
const secret = 'the secret of another folder'

beforeAll(() => {
  mkdirSync(join(cwd, 'src'), { recursive: true })
  writeFileSync(join(cwd, 'src/a.txt'), 'one\ntwo\nthree\ntwo\n')
  writeFileSync(join(cwd, 'windows.txt'), 'one\r\ntwo\r\n')
  writeFileSync(join(home, 'outside.txt'), secret)
  symlinkSync(join(home, 'outside.txt'), join(cwd, 'link.txt'))
  symlinkSync(home, join(cwd, 'up'))
  symlinkSync(join(cwd, 'src/a.txt'), join(cwd, 'inner-link.txt'))
  writeFileSync(join(cwd, 'binary.bin'), Buffer.from([1, 0, 2]))
  writeFileSync(join(cwd, 'large.txt'), 'x'.repeat(1024 * 1024 + 1))
  execFileSync('mkfifo', [join(cwd, 'pipe')])
})

describe('writing a file', () => {
  it('is a patch if the file exists, and the whole content if it does not', async () => {
    const path = join(cwd, 'src/a.txt')
    expect(await writeDiff(path, 'one\n2\nthree\ntwo\n', session)).toEqual({
      path,
      patch: '@@ -1,4 +1,4 @@\n one\n-two\n+2\n three\n two',
    })
    expect(await writeDiff('new.txt', 'new\n', session)).toEqual({
      path: 'new.txt',
      before: null,
      after: 'new\n',
    })
  })

  it('does not report a file as new if the file could not be read', async () => {
    expect(await writeDiff('link.txt', 'x', session)).toEqual({ path: 'link.txt', after: 'x' })
  })
})

describe('replacing a part of a file', () => {
  const replace = (path: string, ...replacements: Parameters<typeof replaceDiff>[1]) =>
    replaceDiff(path, replacements, session)

  it('shows whole lines with their position, for one replacement or all of them', async () => {
    const once = await replace('src/a.txt', { old: 'wo\nth', new: 'wo and a half\nth' })
    expect(once.patch).toContain('-two\n+two and a half\n')
    const everywhere = await replace('src/a.txt', { old: 'two', new: '$&', everywhere: true })
    expect(everywhere.patch?.match(/\+\$&/g)).toHaveLength(2)
  })

  it('applies replacements in order', async () => {
    const diff = await replace('src/a.txt', { old: 'one', new: '1' }, { old: '1\ntwo', new: '12' })
    expect(diff.patch).toContain('-one\n-two\n+12')
  })

  it('finds the text in a file with other line breaks', async () => {
    expect((await replace('windows.txt', { old: 'one\ntwo', new: '1\n2' })).patch).toContain('+1\n+2')
  })

  it('falls back to the texts of the agent if the file would become too large to compare', async () => {
    writeFileSync(join(cwd, 'same.txt'), 'a'.repeat(1024 * 1024))
    const words = { old: 'a', new: 'bbb', everywhere: true }
    const { patch } = await replace('same.txt', words)
    expect(patch?.slice(0, 100)).toBe('@@ -1,1 +1,1 @@\n-a\n+bbb')
    const twice = { old: 'a', new: 'aa', everywhere: true }
    const { patch: again } = await replace('same.txt', ...Array.from({ length: 3 }, () => twice))
    expect(again?.slice(0, 100)).toBe(Array.from({ length: 3 }, () => '@@ -1,1 +1,1 @@\n-a\n+aa').join('\n'))
  })

  it('falls back to the texts of the agent if the file lacks them or cannot be read', async () => {
    for (const path of ['src/a.txt', 'missing.txt', 'link.txt', 'large.txt'])
      expect((await replace(path, { old: 'four', new: '4' })).patch).toContain('-four\n+4')
    expect(await replace('missing.txt', { old: '', new: 'all' })).toMatchObject({
      before: null,
      after: 'all',
    })
  })
})

describe('reading a file for a diff', () => {
  it('reads a regular file in the folder, even through a link whose target is inside', async () => {
    expect(await readForDiff('inner-link.txt', session)).toContain('one')
    expect(await readForDiff('missing/deep.txt', session)).toBeNull()
  })

  it.each([
    'link.txt',
    'up/outside.txt',
    '../outside.txt',
    '/etc/passwd',
    '~/x',
    'binary.bin',
    'large.txt',
    'pipe',
    'src',
    'src/a.txt/below',
  ])('never reads %s', async (path) => {
    expect(await readForDiff(path, session)).toBeUndefined()
    expect(JSON.stringify(await writeDiff(path, 'x', session))).not.toContain(secret)
  })

  it('also reads files in the additional folders of the session', async () => {
    const settings = { options: { directories: [home] } }
    expect(await readForDiff('link.txt', { cwd, settings })).toBe(secret)
  })
})
