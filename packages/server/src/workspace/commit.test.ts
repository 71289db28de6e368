import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { folderForTest } from '../testing/temporary-folder.ts'
import { peopleIn, person, repository } from './folder-changes-under-test.ts'
import { git, write } from './hostile-repository-under-test.ts'

const status = (folder: string) => git(folder, 'status', '--porcelain')
const log = (folder: string, format = '%an <%ae> %s') => git(folder, 'log', '-1', `--format=${format}`).trim()

function hook(folder: string, name: string, script: string): void {
  const file = join(folder, '.git/hooks', name)
  write(folder, { [`.git/hooks/${name}`]: `#!/bin/sh\n${script}\n` })
  chmodSync(file, 0o755)
}

describe('a commit', () => {
  it('contains the named files as they are, keeps other staged changes, and has the identity of the person', async () => {
    const folder = repository({ 'a.txt': 'one\n', 'b.txt': 'one\n' })
    write(folder, { 'a.txt': 'two\n', 'b.txt': 'two\n', 'new.txt': 'new\n' })
    git(folder, 'add', 'b.txt')
    const { see, commit } = peopleIn(folder, { env: person() })
    const made = await commit({
      message: '# Fix the parser\n\n#12 is gone  \n',
      files: [await see('a.txt'), await see('new.txt')],
    })
    expect(made).toEqual({
      commit: git(folder, 'rev-parse', 'HEAD').trim(),
      branch: 'main',
      message: '# Fix the parser\n\n#12 is gone',
      files: 2,
    })
    expect(log(folder)).toBe('Ada <ada@example.com> # Fix the parser')
    expect(status(folder)).toBe('M  b.txt\n')
    expect(git(folder, 'show', '--name-only', '--format=')).toBe('a.txt\nnew.txt\n')
  })

  it('of the staged changes requires that exactly these changes were seen', async () => {
    const folder = repository({ 'a.txt': 'one\n', 'b.txt': 'one\n' })
    write(folder, { 'a.txt': 'two\n', 'b.txt': 'two\n' })
    git(folder, 'add', 'a.txt')
    write(folder, { 'a.txt': 'three\n' })
    const { see, commit } = peopleIn(folder, { env: person() })
    const files = [await see('a.txt', { with: 'staged' })]
    git(folder, 'add', 'b.txt')
    await expect(commit({ message: 'x', files, staged: true })).rejects.toMatchObject({ code: 'conflict' })
    git(folder, 'reset', '-q', 'b.txt')
    await commit({ message: 'x', files, staged: true })
    expect(git(folder, 'show', 'HEAD:a.txt')).toBe('two\n')
    expect(status(folder)).toBe(' M a.txt\n M b.txt\n')
  })

  it('can be the first one of a repository, and can be made in a linked work tree without a branch', async () => {
    const empty = folderForTest()
    git(empty, 'init', '-q', '-b', 'main', '--template=')
    write(empty, { 'a.txt': 'a\n' })
    const first = peopleIn(empty, { env: person() })
    await first.commit({ message: 'First', files: [await first.see('a.txt')] })
    expect(status(empty)).toBe('')
    const linked = join(folderForTest(), 'linked')
    git(empty, 'worktree', 'add', '-q', '--detach', linked)
    write(linked, { 'a.txt': 'b\n' })
    const other = peopleIn(linked, { env: person() })
    const made = await other.commit({ message: 'Second', files: [await other.see('a.txt')] })
    expect(made).toEqual({ commit: git(linked, 'rev-parse', 'HEAD').trim(), message: 'Second', files: 1 })
    expect(log(empty, '%s')).toBe('First')
  })

  it('is made once, even if its command is repeated after a crash', async () => {
    const folder = repository({ 'a.txt': 'one\n' })
    write(folder, { 'a.txt': 'two\n' })
    const env = person()
    const files = [await peopleIn(folder).see('a.txt')]
    const made = await peopleIn(folder, { env }).commit({ message: 'Once', files }, 'cmd_once')
    const again = await peopleIn(folder, { env }).commit({ message: 'Once', files }, 'cmd_once')
    expect(again).toEqual(made)
    expect(git(folder, 'rev-list', '--count', 'HEAD').trim()).toBe('2')
  })

  it('is refused without an effect if there is no identity, during a merge, and if a file has changed', async () => {
    const folder = repository({ 'a.txt': 'one\n' })
    write(folder, { 'a.txt': 'two\n' })
    const nobody = peopleIn(folder)
    const files = [await nobody.see('a.txt')]
    await expect(nobody.commit({ message: 'x', files })).rejects.toMatchObject({
      code: 'not_supported',
      details: { missing: 'identity' },
    })
    const { commit } = peopleIn(folder, { env: person() })
    writeFileSync(join(folder, '.git/MERGE_HEAD'), git(folder, 'rev-parse', 'HEAD'))
    await expect(commit({ message: 'x', files })).rejects.toMatchObject({ details: { unfinished: 'merge' } })
    git(folder, 'merge', '--quit')
    write(folder, { 'a.txt': 'three\n' })
    await expect(commit({ message: 'x', files })).rejects.toMatchObject({ code: 'conflict' })
    expect([status(folder), log(folder, '%s')]).toEqual([' M a.txt\n', 'first'])
  })
})

describe('the hooks of a commit', () => {
  it('run only in a trusted folder, and their output is shown', async () => {
    const folder = repository({ 'a.txt': 'one\n' })
    hook(
      folder,
      'pre-commit',
      'printf "\\033[31mchecked\\033[0m in $PWD, GIT_DIR=$GIT_DIR\\n"; touch "$0.ran"',
    )
    const ran = () => readdirSync(join(folder, '.git/hooks')).includes('pre-commit.ran')
    write(folder, { 'a.txt': 'two\n' })
    const stranger = peopleIn(folder, { env: person() })
    expect(await stranger.commit({ message: 'x', files: [await stranger.see('a.txt')] })).not.toHaveProperty(
      'output',
    )
    expect(ran()).toBe(false)
    write(folder, { 'a.txt': 'three\n' })
    const { see, commit } = peopleIn(folder, { env: person(), trusted: true })
    const unverified = await commit({ message: 'x', files: [await see('a.txt')], verify: false })
    expect([unverified.output, ran()]).toEqual([undefined, false])
    write(folder, { 'a.txt': 'four\n' })
    const { output } = await commit({ message: 'x', files: [await see('a.txt')] })
    expect([output, ran()]).toEqual([`checked in ${folder}, GIT_DIR=`, true])
  })

  it('may change the files, which are then staged as committed, and may refuse the commit', async () => {
    const temporary = folderForTest()
    vi.stubEnv('TMPDIR', temporary)
    const folder = repository({ 'a.txt': 'one\n', 'b.txt': 'one\n' })
    const { see, commit } = peopleIn(folder, { env: person(), trusted: true })
    hook(folder, 'pre-commit', 'echo formatted > a.txt; git add a.txt')
    write(folder, { 'a.txt': 'two\n', 'b.txt': 'two\n' })
    git(folder, 'add', 'b.txt')
    await commit({ message: 'x', files: [await see('a.txt')] })
    expect(git(folder, 'show', 'HEAD:a.txt')).toBe('formatted\n')
    expect(status(folder)).toBe('M  b.txt\n')
    hook(folder, 'pre-commit', 'echo "no tests" >&2; exit 1')
    write(folder, { 'a.txt': 'three\n' })
    await expect(commit({ message: 'x', files: [await see('a.txt')] })).rejects.toMatchObject({
      code: 'conflict',
      details: { exitCode: 1, output: 'no tests' },
    })
    expect(status(folder)).toBe(' M a.txt\nM  b.txt\n')
    expect(readdirSync(temporary).filter((name) => name.startsWith('parley-index-'))).toEqual([])
  })

  it('that make another commit at the same time do not lose that commit', async () => {
    const folder = repository({ 'a.txt': 'one\n', 'b.txt': 'one\n' })
    const { see, commit } = peopleIn(folder, { env: person(), trusted: true })
    const agent =
      'unset GIT_INDEX_FILE GIT_REFLOG_ACTION; echo two > b.txt; git commit -qm agent --no-verify b.txt'
    hook(folder, 'pre-commit', agent)
    write(folder, { 'a.txt': 'two\n' })
    await expect(commit({ message: 'x', files: [await see('a.txt')] })).rejects.toMatchObject({
      code: 'conflict',
    })
    expect(git(folder, 'show', 'HEAD:b.txt')).toBe('two\n')
    expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('two\n')
  })
})
