import { chmodSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { peopleIn, repository, seenFile } from './folder-changes-under-test.ts'
import { git, write } from './hostile-repository-under-test.ts'

const lines = Array.from({ length: 30 }, (_, index) => `line ${index + 1}\n`).join('')
const edited = lines.replace('line 2\n', 'line two\n').replace('line 28\n', '')
const status = (folder: string) => git(folder, 'status', '--porcelain')
const staged = { with: 'staged' } as const
const unstaged = { with: 'unstaged' } as const

describe('staging', () => {
  it('stages and unstages whole changes of every kind', async () => {
    const folder = repository({
      'a.txt': 'one\n',
      'gone.txt': 'g\n',
      'old.txt': lines,
      'run.sh': '#!/bin/sh\n',
    })
    const { list, see, stage, unstage } = peopleIn(folder)
    write(folder, { 'a.txt': 'two\n', 'new.txt': 'new\n' })
    rmSync(join(folder, 'gone.txt'))
    chmodSync(join(folder, 'run.sh'), 0o755)
    renameSync(join(folder, 'old.txt'), join(folder, 'moved.txt'))
    symlinkSync('/etc/passwd', join(folder, 'link'))
    const before = status(folder)
    await stage((await list()).map(seenFile))
    const all = 'M  a.txt\nD  gone.txt\nA  link\nR  old.txt -> moved.txt\nA  new.txt\nM  run.sh\n'
    expect(status(folder)).toBe(all)
    expect((await list()).every((file) => file.staged === 'all')).toBe(true)
    expect(await list(unstaged)).toEqual([])
    const files = await Promise.all((await list(staged)).map(({ path }) => see(path, staged)))
    expect(files.find(({ path }) => path === 'moved.txt')?.from).toBe('old.txt')
    await unstage(files)
    expect(status(folder)).toBe(before)
  })

  it('stages and unstages hunks, and the list says which files are staged in part', async () => {
    const folder = repository({ 'a.txt': lines })
    write(folder, { 'a.txt': edited })
    const { list, see, hunks, stage, unstage } = peopleIn(folder)
    const [first, second] = await hunks('a.txt', unstaged)
    await stage([{ ...(await see('a.txt')), hunks: [second!] }])
    expect(git(folder, 'show', ':a.txt')).toBe(lines.replace('line 28\n', ''))
    expect((await list())[0]).toMatchObject({ path: 'a.txt', staged: 'part' })
    expect(await hunks('a.txt', unstaged)).toEqual([first])
    await stage([{ ...(await see('a.txt')), hunks: [first!] }])
    expect(status(folder)).toBe('M  a.txt\n')
    await unstage([{ ...(await see('a.txt', staged)), hunks: [first!] }])
    expect(git(folder, 'show', ':a.txt')).toBe(lines.replace('line 28\n', ''))
    await unstage([{ ...(await see('a.txt', staged)), hunks: await hunks('a.txt', staged) }])
    expect(status(folder)).toBe(' M a.txt\n')
  })

  it('stores line endings as the repository configures, and adds no line break at the end of the file', async () => {
    const folder = repository({ '.gitattributes': '*.txt text eol=crlf\n', 'a.txt': lines.trimEnd() })
    const { see, hunks, stage } = peopleIn(folder)
    write(folder, { 'a.txt': edited.trimEnd().replaceAll('\n', '\r\n') })
    const [first] = await hunks('a.txt', unstaged)
    await stage([{ ...(await see('a.txt')), hunks: [first!] }])
    expect(git(folder, 'show', ':a.txt')).toBe(lines.trimEnd().replace('line 2\n', 'line two\n'))
    await stage([await see('a.txt')])
    expect(git(folder, 'show', ':a.txt')).toBe(edited.trimEnd())
    expect(status(folder)).toBe('M  a.txt\n')
  })

  it('refuses a file that differs from what was seen, and a filter in an untrusted folder', async () => {
    const folder = repository({ 'a.txt': 'one\n', 'b.txt': 'one\n' })
    const { see, stage, unstage } = peopleIn(folder)
    write(folder, {
      'a.txt': 'two\n',
      'b.txt': 'two\n',
      '.gitattributes': '*.big filter=lfs\n',
      'c.big': 'c\n',
    })
    const [a, b] = [await see('a.txt'), await see('b.txt')]
    write(folder, { 'b.txt': 'by an agent\n' })
    await expect(stage([a, b])).rejects.toMatchObject({ code: 'conflict', details: { path: 'b.txt' } })
    expect(git(folder, 'diff', '--cached', '--name-only')).toBe('')
    await stage([a])
    const seen = await see('a.txt', staged)
    write(folder, { 'a.txt': 'three\n' })
    git(folder, 'add', 'a.txt')
    await expect(unstage([seen])).rejects.toMatchObject({ code: 'conflict', details: { path: 'a.txt' } })
    await expect(stage([await see('c.big')])).rejects.toMatchObject({ details: { filter: 'lfs' } })
    for (const path of ['../x', '.git/config'])
      await expect(stage([{ ...seen, path }])).rejects.toMatchObject({ code: 'validation_error' })
  })
})
