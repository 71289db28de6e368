import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PermissionAsk, Person } from '@parley/adapter-kit'
import { beforeEach, describe, expect, it } from 'vitest'
import { folderForTest } from '../../testing/temporary-folder.ts'
import { createFileMethods, type FileMethods, type OpenCall } from './files.ts'

let place: string
let cwd: string
let other: string
let asked: PermissionAsk[]
let allow: boolean
let forbidden: (ask: PermissionAsk) => boolean
let running: OpenCall[]
let files: FileMethods

const person: Person = {
  forbids: (ask) => forbidden(ask),
  permit: async (ask) => {
    asked.push(ask)
    return allow && !forbidden(ask)
      ? { outcome: 'allowed', requestId: 'r' }
      : { outcome: 'denied', requestId: 'r', message: 'Not today.' }
  },
  answer: async () => ({ outcome: 'cancelled', requestId: 'r' }),
}

beforeEach(() => {
  place = folderForTest()
  cwd = join(place, 'project')
  other = join(place, 'other')
  for (const folder of [cwd, other, join(place, 'secret')]) mkdirSync(folder)
  writeFileSync(join(cwd, 'poem.txt'), 'one\ntwo\nthree\n')
  writeFileSync(join(place, 'secret/key.txt'), 'secret')
  asked = []
  allow = true
  forbidden = () => false
  running = []
  files = createFileMethods({ folders: [cwd, other], person, calls: () => running })
})

const { signal } = new AbortController()
const write = (path: string, content = 'new\n') => files.write({ sessionId: 's', path, content }, signal)
const read = (path: string, more = {}) => files.read({ sessionId: 's', path, ...more }, signal)
const inputOf = ({ input }: PermissionAsk) => input as { path?: string }

function call(fields: Partial<PermissionAsk> = {}, ...paths: string[]): PermissionAsk {
  const toolCallId = `call${running.length}`
  const ask: PermissionAsk = { toolCallId, tool: 'Edit', kind: 'edit', title: 'Edit', input: {}, ...fields }
  running.push({ ask, paths })
  return ask
}

describe('reading', () => {
  it('returns a file of the session, or lines of it', async () => {
    expect(await read(join(cwd, 'poem.txt'))).toEqual({ content: 'one\ntwo\nthree\n' })
    expect(await read(join(cwd, 'poem.txt'), { line: 2, limit: 1 })).toEqual({ content: 'two' })
    expect(asked).toEqual([])
  })

  it('is refused by a rule on the file, under any of its names', async () => {
    mkdirSync(join(cwd, 'private'))
    writeFileSync(join(cwd, 'private/key.txt'), 'secret')
    symlinkSync(join(cwd, 'private/key.txt'), join(cwd, 'harmless.txt'))
    symlinkSync(join(cwd, 'poem.txt'), join(cwd, 'private/poem.txt'))
    forbidden = (ask) => ask.tool === 'read_text_file' && (inputOf(ask).path?.includes('/private/') ?? false)
    for (const name of ['private/key.txt', 'harmless.txt', 'private/poem.txt'])
      await expect(read(join(cwd, name))).rejects.toThrow('Not today.')
    expect(asked).toMatchObject(Array(3).fill({ tool: 'read_text_file', kind: 'read' }))
    expect(await read(join(cwd, 'poem.txt'))).toMatchObject({ content: expect.stringContaining('one') })
  })

  it('is refused by a rule on the call that reads', async () => {
    call({ tool: 'Read', kind: 'read' }, join(cwd, 'poem.txt'))
    forbidden = ({ tool }) => tool === 'Read'
    await expect(read(join(cwd, 'poem.txt'))).rejects.toThrow('Not today.')
    expect(asked).toMatchObject([{ tool: 'Read', toolCallId: 'call0' }])
    running = []
    expect(await read(join(cwd, 'poem.txt'))).toMatchObject({ content: expect.stringContaining('one') })
  })

  it('reports a missing file as not found', async () => {
    await expect(read(join(cwd, 'none.txt'))).rejects.toMatchObject({ code: -32002 })
  })

  it.each([
    ['a path outside the folders', () => join(place, 'secret/key.txt')],
    ['a path that leaves the folder through ..', () => join(cwd, '../secret/key.txt')],
    ['a relative path', () => 'poem.txt'],
    ['a sibling folder whose name starts with the name of the folder', () => `${cwd}-secret/key.txt`],
  ])('refuses %s', async (_, path) => {
    mkdirSync(`${cwd}-secret`)
    writeFileSync(`${cwd}-secret/key.txt`, 'secret')
    await expect(read(path())).rejects.toMatchObject({ code: -32602 })
  })

  it('follows links only inside the folders', async () => {
    symlinkSync(join(place, 'secret'), join(cwd, 'way-out'))
    symlinkSync(join(place, 'secret/key.txt'), join(cwd, 'key.txt'))
    symlinkSync(join(cwd, 'poem.txt'), join(other, 'poem.txt'))
    await expect(read(join(cwd, 'way-out/key.txt'))).rejects.toMatchObject({ code: -32602 })
    await expect(read(join(cwd, 'key.txt'))).rejects.toMatchObject({ code: -32602 })
    expect(await read(join(other, 'poem.txt'))).toMatchObject({ content: expect.stringContaining('one') })
  })
})

describe('writing', () => {
  it('asks first and shows the change', async () => {
    await write(join(cwd, 'poem.txt'), 'one\n2\nthree\n')
    await write(join(other, 'deep/new.txt'))
    expect(asked).toMatchObject([
      { kind: 'edit', title: 'Write poem.txt', diffs: [{ patch: expect.stringContaining('-two\n+2') }] },
      { kind: 'edit', diffs: [{ before: null, after: 'new\n' }] },
    ])
    expect(readFileSync(join(other, 'deep/new.txt'), 'utf8')).toBe('new\n')
  })

  it('writes nothing that was denied', async () => {
    allow = false
    await expect(write(join(cwd, 'poem.txt'))).rejects.toThrow('Not today.')
    expect(readFileSync(join(cwd, 'poem.txt'), 'utf8')).toBe('one\ntwo\nthree\n')
  })

  it('writes an allowed change once without asking again', async () => {
    const path = join(cwd, 'poem.txt')
    await files.allow(call({}, path), [{ path, oldText: 'old', newText: 'new\n' }])
    await write(path)
    expect(asked).toEqual([])
    await write(path)
    expect(asked).toMatchObject([{ tool: 'Edit', title: 'Write poem.txt' }])
  })

  it('asks again with the new diff if the content differs from the allowed change', async () => {
    const path = join(cwd, 'poem.txt')
    await files.allow(call({}, path), [{ path, oldText: 'one\ntwo\nthree\n', newText: 'new\n' }])
    allow = false
    await expect(write(path, 'other\n')).rejects.toThrow('Not today.')
    expect(asked).toMatchObject([{ diffs: [{ patch: expect.stringContaining('+other') }] }])
    expect(readFileSync(path, 'utf8')).toBe('one\ntwo\nthree\n')
    await write(path)
    expect(asked).toHaveLength(1)
  })

  it('accepts an approved replacement of a part of the file', async () => {
    const path = join(cwd, 'poem.txt')
    await files.allow(call({}, path), [{ path, oldText: 'two', newText: '2' }])
    await write(path, 'one\n2\nthree\n')
    expect(asked).toEqual([])
  })

  it.each([
    ['its content', { path: 'poem.txt', content: 'new\n' }],
    ['the old text and the new', { file_path: 'poem.txt', old_string: 'two', new_string: 'x' }],
  ])('accepts an approved input with %s once, and only while the call runs', async (_, input) => {
    const path = join(cwd, 'poem.txt')
    const content = 'content' in input ? 'new\n' : 'one\nx\nthree\n'
    await files.allow(call({ input }, path), [{ path: 'poem.txt', input }])
    await write(path, content)
    expect(asked).toEqual([])
    await write(path, content)
    expect(asked).toHaveLength(1)
    await files.allow(call({ input }, path), [{ path, input }])
    running = []
    await write(path, content)
    expect(asked).toMatchObject([{}, { tool: 'write_text_file' }])
  })

  it.each([
    ['no text', { path: 'poem.txt' }],
    ['another text', { path: 'poem.txt', content: 'shown\n' }],
    ['another change', { path: 'poem.txt', old_string: 'one', new_string: '1' }],
    ['the text only as its title', { path: 'poem.txt', title: 'new\n' }],
  ])('asks again if the approved input has %s', async (_, input) => {
    const path = join(cwd, 'poem.txt')
    await files.allow(call({ input }, path), [{ path, input }])
    allow = false
    await expect(write(path)).rejects.toThrow('Not today.')
    expect(asked).toMatchObject([{ diffs: [{ patch: expect.stringContaining('+new') }] }])
  })

  it('does not extend an approval to the next turn, nor to a call that changes no files', async () => {
    const path = join(cwd, 'poem.txt')
    await files.allow(call({}, path), [{ path, newText: 'new\n' }])
    files.forget()
    await write(path)
    await files.allow(call({ kind: 'execute' }, path), [{ path, newText: 'new\n' }])
    await write(path)
    expect(asked).toHaveLength(2)
  })

  it.each(['Edit', 'write_text_file'])('is refused if a later rule forbids %s', async (tool) => {
    const path = join(cwd, 'poem.txt')
    await files.allow(call({}, path), [{ path, newText: 'new\n' }])
    forbidden = (ask) => ask.tool === tool
    await expect(write(path)).rejects.toThrow('Not today.')
    expect(asked).toMatchObject([{ tool }])
  })

  it('marks a request for a protected file as protected', async () => {
    mkdirSync(join(cwd, '.git'))
    symlinkSync(join(cwd, '.git'), join(cwd, 'notes'))
    for (const path of ['.git/config', 'notes/config', '.envrc', 'poem.txt']) await write(join(cwd, path))
    expect(asked.map((ask) => ask.protected ?? false)).toEqual([true, true, true, false])
  })

  it('is refused outside the folders, even after an approval', async () => {
    await files.allow(call(), [{ path: join(place, 'secret/key.txt') }])
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
