import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { PermissionAsk, Person } from '../../core/agent-adapter.ts'
import { createFileMethods, type FileMethods } from './files.ts'

let place: string
let cwd: string
let other: string
let asked: PermissionAsk[]
let allow: boolean
let forbidden: boolean
let files: FileMethods

const person: Person = {
  forbids: () => forbidden,
  permit: async (ask) => {
    asked.push(ask)
    return allow
      ? { outcome: 'allowed', requestId: 'r' }
      : { outcome: 'denied', requestId: 'r', message: 'Not today.' }
  },
  answer: async () => ({ outcome: 'cancelled', requestId: 'r' }),
}

beforeEach(() => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'parley-files-')))
  cwd = join(place, 'project')
  other = join(place, 'other')
  for (const folder of [cwd, other, join(place, 'secret')]) mkdirSync(folder)
  writeFileSync(join(cwd, 'poem.txt'), 'one\ntwo\nthree\n')
  writeFileSync(join(place, 'secret/key.txt'), 'secret')
  asked = []
  allow = true
  forbidden = false
  files = createFileMethods({ folders: [cwd, other], person })
})
afterEach(() => rmSync(place, { recursive: true, force: true }))

const { signal } = new AbortController()
const write = (path: string, content = 'new\n') => files.write({ sessionId: 's', path, content }, signal)
const read = (path: string, more = {}) => files.read({ sessionId: 's', path, ...more })
const edit = (title: string): PermissionAsk => ({ tool: 'Edit', kind: 'edit', title, input: {} })

describe('reading', () => {
  it('gives a file of the session, or lines of it', async () => {
    expect(await read(join(cwd, 'poem.txt'))).toEqual({ content: 'one\ntwo\nthree\n' })
    expect(await read(join(cwd, 'poem.txt'), { line: 2, limit: 1 })).toEqual({ content: 'two' })
    expect(asked).toEqual([])
  })

  it('says of a file that is not there that it is not', async () => {
    await expect(read(join(cwd, 'none.txt'))).rejects.toMatchObject({ code: -32002 })
  })

  it.each([
    ['a path outside', () => join(place, 'secret/key.txt')],
    ['a path that climbs', () => join(cwd, '../secret/key.txt')],
    ['a relative path', () => 'poem.txt'],
    ['a folder beside that begins the same', () => `${cwd}-secret/key.txt`],
  ])('refuses %s', async (_, path) => {
    mkdirSync(`${cwd}-secret`)
    writeFileSync(`${cwd}-secret/key.txt`, 'secret')
    await expect(read(path())).rejects.toMatchObject({ code: -32602 })
  })

  it('follows links only inside', async () => {
    symlinkSync(join(place, 'secret'), join(cwd, 'way-out'))
    symlinkSync(join(place, 'secret/key.txt'), join(cwd, 'key.txt'))
    symlinkSync(join(cwd, 'poem.txt'), join(other, 'poem.txt'))
    await expect(read(join(cwd, 'way-out/key.txt'))).rejects.toMatchObject({ code: -32602 })
    await expect(read(join(cwd, 'key.txt'))).rejects.toMatchObject({ code: -32602 })
    expect(await read(join(other, 'poem.txt'))).toMatchObject({ content: expect.stringContaining('one') })
  })
})

describe('writing', () => {
  it('asks first, with the change', async () => {
    await write(join(cwd, 'poem.txt'), 'one\n2\nthree\n')
    await write(join(other, 'deep/new.txt'))
    expect(asked).toMatchObject([
      { kind: 'edit', title: 'Write poem.txt', diff: { patch: expect.stringContaining('-two\n+2') } },
      { kind: 'edit', diff: { before: null, after: 'new\n' } },
    ])
    expect(readFileSync(join(other, 'deep/new.txt'), 'utf8')).toBe('new\n')
  })

  it('does not write what is not allowed', async () => {
    allow = false
    await expect(write(join(cwd, 'poem.txt'))).rejects.toThrow('Not today.')
    expect(readFileSync(join(cwd, 'poem.txt'), 'utf8')).toBe('one\ntwo\nthree\n')
  })

  it('asks nothing of a file that was allowed in this turn, and again in the next', async () => {
    await files.allow(edit('Edit poem.txt'), [join(cwd, 'poem.txt'), join(place, 'secret/key.txt')])
    await write(join(cwd, 'poem.txt'))
    expect(asked).toEqual([])
    files.forget()
    await write(join(cwd, 'poem.txt'))
    expect(asked).toHaveLength(1)
  })

  it('asks once more when a rule speaks against what was allowed', async () => {
    await files.allow(edit('Edit poem.txt'), [join(cwd, 'poem.txt')])
    forbidden = true
    allow = false
    await expect(write(join(cwd, 'poem.txt'))).rejects.toThrow()
    expect(asked).toMatchObject([{ tool: 'Edit' }])
  })

  it('is refused outside, whatever is allowed', async () => {
    await files.allow(edit('Edit it'), [join(place, 'secret/key.txt')])
    symlinkSync(join(place, 'secret/new.txt'), join(cwd, 'dangling.txt'))
    symlinkSync(join(place, 'secret'), join(cwd, 'way-out'))
    for (const path of [
      join(place, 'secret/key.txt'),
      join(cwd, 'dangling.txt'),
      join(cwd, 'way-out/deep/new.txt'),
    ]) {
      await expect(write(path)).rejects.toMatchObject({ code: -32602 })
    }
    expect(readFileSync(join(place, 'secret/key.txt'), 'utf8')).toBe('secret')
    expect(existsSync(join(place, 'secret/new.txt'))).toBe(false)
    expect(asked).toEqual([])
  })
})
