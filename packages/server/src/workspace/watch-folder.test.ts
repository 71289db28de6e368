import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { folderForTest } from '../testing/temporary-folder.ts'
import { createGitIn } from './git.ts'
import { createFolderWatches } from './watches.ts'

const gitIn = createGitIn(process.env)
const eventually = <Value>(look: () => Value) => expect.poll(look, { timeout: 20_000 })

function folderWith(files: Record<string, string>): string {
  const folder = folderForTest()
  write(folder, files)
  return folder
}

function write(folder: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

function git(folder: string, ...args: string[]): void {
  execFileSync('git', ['-c', 'user.name=p', '-c', 'user.email=p@example.com', ...args], { cwd: folder })
}

function repository(files: Record<string, string>): string {
  const folder = folderWith(files)
  git(folder, 'init', '-q')
  git(folder, 'add', '-A')
  git(folder, 'commit', '-qm', 'first')
  return folder
}

async function watched(folder: string, limits = { folders: 100, ignored: 100, watches: 4 }) {
  const reported: (readonly string[] | 'anything')[] = []
  const whole: boolean[] = []
  const leave = createFolderWatches(gitIn, limits).watch(
    { path: folder, trusted: false },
    {
      watching: (facts) => whole.push(facts.whole),
      changed: ({ paths }) => reported.push(paths ? paths.toSorted() : 'anything'),
    },
  )
  onTestFinished(leave)
  await eventually(() => whole.length).toBe(1)
  return { reported, whole, leave }
}

describe('a watched folder', () => {
  it('reports files that are written, created, moved and removed, at any depth', async () => {
    const folder = repository({ 'a.txt': 'a', 'src/deep/b.txt': 'b' })
    const { reported, whole } = await watched(folder)
    expect(whole).toEqual([true])
    write(folder, { 'src/deep/b.txt': 'B' })
    await eventually(() => reported.at(-1)).toEqual(['src/deep/b.txt'])
    renameSync(join(folder, 'a.txt'), join(folder, 'z.txt'))
    await eventually(() => reported.at(-1)).toEqual(['a.txt', 'z.txt'])
    rmSync(join(folder, 'src/deep/b.txt'))
    await eventually(() => reported.at(-1)).toEqual(['src/deep/b.txt'])
  })

  it('reports files in new folders, and in a folder that was removed and created again', async () => {
    const folder = repository({ 'a.txt': 'a', 'src/b.txt': 'b' })
    const { reported } = await watched(folder)
    mkdirSync(join(folder, 'new/deeper'), { recursive: true })
    await eventually(() => reported.at(-1)).toEqual(['new'])
    write(folder, { 'new/deeper/c.txt': 'c' })
    await eventually(() => reported.at(-1)).toEqual(['new/deeper/c.txt'])
    rmSync(join(folder, 'src'), { recursive: true })
    await eventually(() => reported.flat()).toContain('src')
    mkdirSync(join(folder, 'src'))
    await eventually(() => reported.flat().filter((path) => path === 'src').length).toBeGreaterThan(1)
    write(folder, { 'src/d.txt': 'd' })
    await eventually(() => reported.at(-1)).toEqual(['src/d.txt'])
  })

  it('reports an ignored file only after git stops ignoring it', async () => {
    const folder = repository({ '.gitignore': 'build/\n*.log\n', 'a.txt': 'a' })
    write(folder, { 'build/old.js': '' })
    const { reported } = await watched(folder)
    write(folder, { 'build/new.js': '', 'b.log': '', 'src/c.log': '' })
    await eventually(() => reported.at(-1)).toEqual(['src'])
    write(folder, { 'src/c.log': 'more', 'b.log': 'more', 'build/new.js': 'more' })
    write(folder, { 'a.txt': 'A' })
    await eventually(() => reported.at(-1)).toEqual(['a.txt'])
    write(folder, { '.gitignore': '' })
    await eventually(() => reported.at(-1)).toBe('anything')
    write(folder, { 'build/new.js': 'again' })
    await eventually(() => reported.at(-1)).toEqual(['build/new.js'])
  })

  it('reports nothing that git ignores, for any file name, even if few ignored paths are cached', async () => {
    const names = ['plain', 'quote"d', 'ünï', 'tab\tbed', ':magic']
    const folder = repository({ '.gitignore': names.map((name) => `${name}/`).join('\n'), 'a.txt': 'a' })
    write(folder, Object.fromEntries(names.map((name) => [`${name}/in.txt`, '1'])))
    const { reported, whole } = await watched(folder, { folders: 3, ignored: 1, watches: 4 })
    expect(whole).toEqual([true])
    write(folder, Object.fromEntries(names.map((name) => [`${name}/in.txt`, '2'])))
    write(folder, { 'a.txt': 'A' })
    await eventually(() => reported.at(-1)).toEqual(['a.txt'])
    expect(reported).toEqual([['a.txt']])
  })

  it('reports tracked files in ignored folders, and no other files there', async () => {
    const folder = repository({ 'a.txt': 'a' })
    write(folder, { '.gitignore': 'build/\n*.log\n', 'build/deep/kept.js': 'k', 'kept.log': 'k' })
    git(folder, 'add', '-f', 'build/deep/kept.js', 'kept.log', '.gitignore')
    write(folder, { 'build/made.js': '', 'build/cache/made.js': '' })
    const { reported } = await watched(folder)
    write(folder, { 'build/deep/kept.js': 'K', 'build/made.js': 'more', 'build/cache/made.js': 'more' })
    await eventually(() => reported.flat()).toContain('build/deep/kept.js')
    write(folder, { 'kept.log': 'K' })
    await eventually(() => reported.flat()).toContain('kept.log')
    expect(reported.flat().filter((path) => path.includes('made'))).toEqual([])

    git(folder, 'add', '-f', 'build/cache/made.js')
    await eventually(() => reported.at(-1)).toBe('anything')
    write(folder, { 'build/cache/made.js': 'and more' })
    await eventually(() => reported.at(-1)).toEqual(['build/cache/made.js'])
  })

  it('reports that anything may have changed after staging or a commit, and no other changes inside .git', async () => {
    const folder = repository({ 'a.txt': 'a' })
    write(folder, { 'a.txt': 'A' })
    const { reported } = await watched(folder)
    write(folder, { '.git/COMMIT_EDITMSG': 'x', '.git/description': 'x' })
    git(folder, 'commit', '-qam', 'second')
    await eventually(() => reported.at(-1)).toBe('anything')
    expect(reported.filter((paths) => paths !== 'anything')).toEqual([])
  })

  it('is watched further when it becomes a repository', async () => {
    const folder = folderWith({ 'src/a.txt': 'a' })
    const { reported } = await watched(folder)
    git(folder, 'init', '-q')
    await eventually(() => reported.at(-1)).toBe('anything')
    write(folder, { 'src/a.txt': 'A' })
    await eventually(() => reported.at(-1)).toEqual(['src/a.txt'])
  })

  it('reports when it cannot be watched completely: too many folders in it, or too many watches', async () => {
    const folder = repository({ 'a/1': '', 'b/1': '', 'c/1': '' })
    expect((await watched(folder, { folders: 3, ignored: 100, watches: 4 })).whole).toEqual([false])
    expect((await watched(folder, { folders: 100, ignored: 100, watches: 0 })).whole).toEqual([false])
    expect((await watched(folder, { folders: 4, ignored: 100, watches: 1 })).whole).toEqual([true])
  })

  it('is no longer watched when its last reader has left', async () => {
    const folder = repository({ 'a.txt': 'a' })
    const watches = createFolderWatches(gitIn, { folders: 10, ignored: 100, watches: 1 })
    const listen = (path: string) => {
      const states: boolean[] = []
      const reader = { watching: ({ whole }: { whole: boolean }) => states.push(whole), changed: () => {} }
      return { states, leave: watches.watch({ path, trusted: false }, reader) }
    }
    const [one, other] = [listen(folder), listen(folder)]
    await eventually(() => [one.states, other.states]).toEqual([[true], [true]])
    const elsewhere = repository({ 'b.txt': 'b' })
    one.leave()
    expect(listen(elsewhere).states).toEqual([false])
    other.leave()
    const last = listen(elsewhere)
    await eventually(() => last.states).toEqual([true])
    last.leave()
  })

  it('is watched for a reader that joins while another leaves before the watch has started', async () => {
    const folder = repository({ 'a.txt': 'a' })
    const watches = createFolderWatches(gitIn, { folders: 10, ignored: 100, watches: 1 })
    const reported: unknown[] = []
    const nobody = { watching: () => {}, changed: () => {} }
    const reader = { watching: () => reported.push('watching'), changed: () => reported.push('changed') }
    const leave = watches.watch({ path: folder, trusted: false }, nobody)
    const end = watches.watch({ path: folder, trusted: false }, reader)
    leave()
    await eventually(() => reported).toEqual(['watching'])
    write(folder, { 'a.txt': 'A' })
    await eventually(() => reported.at(-1)).toBe('changed')
    end()
  })

  it('is still watched after a folder in it was removed and immediately created again', async () => {
    const folder = repository({ 'src/a.txt': 'a', 'b.txt': 'b' })
    const { reported } = await watched(folder)
    rmSync(join(folder, 'src'), { recursive: true })
    write(folder, { 'src/a.txt': 'b' })
    await eventually(() => reported.length).toBeGreaterThan(0)
    // Once a later change is reported, the change of the folder has been processed.
    write(folder, { 'b.txt': 'c' })
    await eventually(() => reported.at(-1)).toEqual(['b.txt'])
    write(folder, { 'src/a.txt': 'c' })
    await eventually(() => reported.at(-1)).toEqual(['src/a.txt'])
  })
})
