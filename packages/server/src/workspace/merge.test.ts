import { chmodSync, existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { MergePreview } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { folderForTest } from '../testing/temporary-folder.ts'
import { peopleIn, person, repository } from './folder-changes-under-test.ts'
import { git, write } from './hostile-repository-under-test.ts'

const head = (folder: string, ref = 'HEAD') => git(folder, 'rev-parse', ref).trim()
const status = (folder: string) => git(folder, 'status', '--porcelain')
const read = (folder: string, path: string) => readFileSync(join(folder, path), 'utf8')

const first = { 'a.txt': 'one\n', 'b.txt': 'one\n', 'old/c.txt': 'one\n', '.gitignore': '*.log\n' }

/**
 * A repository with the branch `main` in its main work tree, and in a linked work tree the branch `fix`, which is one
 * commit ahead.
 */
function branched(files: Record<string, string> = { 'a.txt': 'two\n', 'new/d.txt': 'new\n' }) {
  const main = repository(first)
  const fix = join(folderForTest(), 'fix')
  git(main, 'worktree', 'add', '-q', '-b', 'fix', fix)
  const commit = (folder: string, changed: Record<string, string>, message: string) => {
    write(folder, changed)
    git(folder, 'add', '-A', '-f')
    git(folder, 'commit', '-qm', message)
    return head(folder)
  }
  commit(fix, files, 'Fix')
  return { main, fix, commit }
}

function seen({ branch, commit, into }: MergePreview) {
  if (branch === undefined || commit === undefined || !into) throw new Error('There is nothing to merge.')
  const { folder } = into
  return { branch, commit, into: into.branch, onto: into.commit, ...(folder !== undefined && { folder }) }
}

/** A program named git that runs `script` before each git command named `command`. */
function gitBefore(command: string, script: string): NodeJS.ProcessEnv {
  const programs = folderForTest()
  const real = (process.env.PATH ?? '')
    .split(delimiter)
    .map((place) => join(place, 'git'))
    .find((path) => existsSync(path))
  write(programs, {
    git: `#!/bin/sh\nfor word in "$@"; do if [ "$word" = ${command} ]; then ${script}; fi; done\nexec ${real} "$@"\n`,
  })
  chmodSync(join(programs, 'git'), 0o755)
  return person(programs)
}

describe('a merge into the base branch', () => {
  it('is a fast-forward if that is possible, and changes the files where the base branch is checked out, but nothing else there', async () => {
    const { main, fix } = branched()
    write(main, { 'b.txt': 'mine\n', 'own.log': 'mine\n' })
    write(fix, { 'late.txt': 'late\n', 'b.txt': 'late\n' })
    const { previewMerge, merge } = peopleIn(fix, { env: person() })
    const preview = await previewMerge()
    expect(preview).toMatchObject({
      ...{ branch: 'fix', commit: head(fix), fastForward: true, commitCount: 1 },
      into: { branch: 'main', commit: head(main), folder: main },
      commits: [{ commit: head(fix), subject: 'Fix' }],
      files: [
        { path: 'a.txt', status: 'modified', added: 1, removed: 1 },
        { path: 'new/d.txt', status: 'added' },
      ],
      ...{ conflicts: [], blocked: [], uncommitted: ['b.txt', 'late.txt'], uncommittedCount: 2 },
    })
    expect(preview.refused).toBeUndefined()
    const before = head(main)
    expect(status(main)).toBe(' M b.txt\n')
    expect(await merge(seen(preview))).toEqual({
      ...{ branch: 'fix', merged: head(fix), into: 'main', before, commit: head(fix), way: 'fast-forward' },
      ...{ commits: 1, files: 2, folder: main },
    })
    expect([head(main), read(main, 'a.txt'), read(main, 'new/d.txt')]).toEqual([head(fix), 'two\n', 'new\n'])
    expect([status(main), read(main, 'b.txt'), read(main, 'own.log')]).toEqual([
      ' M b.txt\n',
      'mine\n',
      'mine\n',
    ])
    expect(status(fix)).toBe(' M b.txt\n?? late.txt\n')
  })

  it('makes the commit that git merge makes, with the identity of the person', async () => {
    const { main, fix, commit } = branched({ 'a.txt': 'two\n', 'old/e.txt': 'new\n' })
    git(fix, 'rm', '-q', '-r', 'old/c.txt')
    git(fix, 'commit', '-qm', 'Remove')
    const before = commit(main, { 'b.txt': 'main\n' }, 'Meanwhile')
    const plain = join(folderForTest(), 'plain')
    git(main, 'clone', '-q', main, plain)
    git(plain, 'merge', '-q', '--no-edit', 'origin/fix')
    const { previewMerge, merge } = peopleIn(fix, { env: person() })
    const preview = await previewMerge()
    expect(preview).toMatchObject({ fastForward: false, commitCount: 2 })
    const merged = await merge(seen(preview))
    expect(merged).toMatchObject({
      way: 'merge',
      before,
      commits: 2,
      files: 3,
      message: "Merge branch 'fix'",
    })
    expect(git(main, 'log', '-1', '--format=%an <%ae> %P').trim()).toBe(
      `Ada <ada@example.com> ${before} ${head(fix)}`,
    )
    expect([head(main, 'HEAD^{tree}'), status(main)]).toEqual([head(plain, 'HEAD^{tree}'), ''])
    expect(existsSync(join(main, 'old/c.txt'))).toBe(false)
    await expect(merge(seen(preview))).rejects.toMatchObject({ code: 'conflict' })
  })

  it('makes one commit of all changes if a squash is requested', async () => {
    const { main, fix, commit } = branched()
    commit(fix, { 'a.txt': 'three\n' }, `More${' of it'.repeat(1_000)}`)
    const { previewMerge, merge } = peopleIn(fix, { env: person() })
    const before = head(main)
    const preview = await previewMerge()
    expect(preview.commits[0]?.subject).toHaveLength(500)
    const merged = await merge({ ...seen(preview), way: 'squash', message: 'Fix the parser' })
    expect(merged).toMatchObject({ way: 'squash', before, commits: 2, message: 'Fix the parser' })
    expect(git(main, 'log', '--format=%s %P').trim().split('\n')[0]).toBe(`Fix the parser ${before}`)
    expect([read(main, 'a.txt'), status(main)]).toEqual(['three\n', ''])
    await expect(merge({ ...seen(await previewMerge()), way: 'squash' })).rejects.toMatchObject({
      code: 'conflict',
    })
  })

  it('only moves the base branch if no work tree has checked it out, even in a bare repository', async () => {
    const { main, fix } = branched()
    git(main, 'checkout', '-q', '-b', 'other')
    const { previewMerge, merge } = peopleIn(fix, { env: person() })
    const preview = await previewMerge()
    expect(preview.into).toEqual({ branch: 'main', commit: head(main) })
    expect(await merge(seen(preview))).not.toHaveProperty('folder')
    expect([head(main, 'main'), read(main, 'a.txt'), status(main)]).toEqual([head(fix), 'one\n', ''])

    const bare = join(folderForTest(), 'bare')
    const tree = join(folderForTest(), 'tree')
    git(main, 'clone', '-q', '--bare', main, bare)
    git(bare, 'symbolic-ref', 'HEAD', 'refs/heads/main')
    git(bare, 'worktree', 'add', '-q', '-b', 'next', tree, 'main')
    write(tree, { 'a.txt': 'three\n' })
    git(tree, 'commit', '-qam', 'Next')
    const people = peopleIn(tree, { env: person() })
    await people.merge(seen(await people.previewMerge()))
    expect(head(bare, 'main')).toBe(head(tree))
  })

  it('uses the base branch of the project settings, which must exist in the repository', async () => {
    const { main, fix } = branched()
    git(main, 'branch', 'release')
    const preview = await peopleIn(fix, { env: person(), base: 'release' }).previewMerge()
    expect(preview.into).toMatchObject({ branch: 'release' })
    const missing = await peopleIn(fix, { env: person(), base: 'gone' }).previewMerge()
    expect(missing.refused).toMatchObject({ code: 'not_supported', message: expect.stringContaining('gone') })
    const itself = await peopleIn(main, { env: person() }).previewMerge()
    expect(itself.refused).toMatchObject({ code: 'conflict' })
  })

  it('uses the branch from which the worktree was made if the repository names no base branch', async () => {
    const { main, fix } = branched()
    git(main, 'branch', '-m', 'stable')
    const unnamed = peopleIn(fix, { env: person() })
    expect((await unnamed.previewMerge()).refused).toMatchObject({ code: 'not_supported' })
    await expect(unnamed.list({ with: 'base' })).rejects.toMatchObject({ code: 'not_supported' })
    const people = peopleIn(fix, { env: person(), madeFrom: 'stable' })
    expect((await people.branch()).base).toEqual({ branch: 'stable', ahead: 1, behind: 0, toMerge: 1 })
    const changed = await people.list({ with: 'base', madeFrom: 'stable' })
    expect(changed.map(({ path }) => path)).toEqual(['a.txt', 'new/d.txt'])
    await people.merge(seen(await people.previewMerge()))
    expect(head(main, 'stable')).toBe(head(fix))
    const named = await peopleIn(fix, { env: person(), madeFrom: 'stable', base: 'gone' }).previewMerge()
    expect(named.refused).toMatchObject({ message: expect.stringContaining('gone') })
  })

  it('leaves nothing to merge, even if a squash made another commit', async () => {
    const { main, fix, commit } = branched()
    commit(main, { 'b.txt': 'main\n' }, 'Meanwhile')
    git(fix, 'merge', '-q', '-m', 'Merge main', 'main')
    const people = peopleIn(fix, { env: person() })
    await people.merge({ ...seen(await people.previewMerge()), way: 'squash', message: 'Fix' })
    expect((await people.branch()).base).toMatchObject({ ahead: 2, toMerge: 0 })
  })

  it('is made once: a repeated command finds the merge, even if the first one was killed after the files were written', async () => {
    const { main, fix, commit } = branched()
    commit(main, { 'b.txt': 'main\n' }, 'Meanwhile')
    const { previewMerge, merge } = peopleIn(fix, { env: person() })
    const given = seen(await previewMerge())
    const tree = git(main, 'merge-tree', '--write-tree', 'main', 'fix').trim()
    git(main, 'read-tree', '-m', '-u', 'main', tree)
    expect(status(main)).not.toBe('')
    const merged = await merge(given, 'cmd_once')
    expect([status(main), head(main, 'HEAD^{tree}')]).toEqual(['', tree])
    commit(main, { 'b.txt': 'later\n' }, 'Later')
    expect(await merge(given, 'cmd_once')).toEqual(merged)
    expect(git(main, 'rev-list', '--count', '--merges', 'main').trim()).toBe('1')
  })
})

describe('a merge is refused, and nothing changes,', () => {
  /** The state of both folders, with the refs. */
  const all = (...folders: string[]) =>
    folders.map((folder) => [status(folder), git(folder, 'diff', 'HEAD'), git(folder, 'show-ref', '--head')])

  it('with the paths of the conflicts, if both branches changed the same lines', async () => {
    const { main, fix, commit } = branched({ 'a.txt': 'two\n', 'b.txt': 'two\n' })
    commit(main, { 'a.txt': 'main\n', 'b.txt': 'main\n' }, 'Meanwhile')
    const before = all(main, fix)
    const { previewMerge, merge } = peopleIn(fix, { env: person() })
    const preview = await previewMerge()
    expect(preview).toMatchObject({ conflicts: ['a.txt', 'b.txt'], refused: { code: 'conflict' } })
    await expect(merge(seen(preview))).rejects.toMatchObject({
      code: 'conflict',
      details: { conflicts: ['a.txt', 'b.txt'] },
    })
    expect(all(main, fix)).toEqual(before)
  })

  it.each<[string, (main: string) => void, string[], string]>([
    ['edited', (main) => write(main, { 'a.txt': 'mine\n' }), ['a.txt'], 'a.txt'],
    [
      'staged',
      (main) => {
        write(main, { 'a.txt': 'mine\n' })
        git(main, 'add', 'a.txt')
      },
      ['a.txt'],
      'a.txt',
    ],
    ['untracked', (main) => write(main, { 'new/d.txt': 'mine\n' }), ['new/d.txt'], 'new/d.txt'],
    ['ignored', (main) => write(main, { 'e.log': 'mine\n' }), ['e.log'], 'e.log'],
    ['ignored, in the place of a folder', (main) => write(main, { 'f.log': 'mine\n' }), ['f.log'], 'f.log'],
    [
      'a folder in the place of a file',
      (main) => write(main, { 'g/own.log': 'mine\n' }),
      ['g/own.log'],
      'g/own.log',
    ],
  ])('if a file that it would overwrite is %s', async (_, change, blocked, kept) => {
    const { main, fix } = branched({
      ...{ 'a.txt': 'two\n', 'new/d.txt': 'new\n', 'e.log': 'forced\n', 'f.log/x.txt': 'x\n' },
      g: 'file\n',
    })
    change(main)
    const before = all(main, fix)
    const { previewMerge, merge } = peopleIn(fix, { env: person() })
    const preview = await previewMerge()
    expect(preview).toMatchObject({
      blocked,
      refused: { code: 'conflict', details: { blocked, folder: main } },
    })
    await expect(merge(seen(preview))).rejects.toMatchObject({ code: 'conflict', details: { blocked } })
    expect(all(main, fix)).toEqual(before)
    expect(read(main, kept)).toBe('mine\n')
  })

  it('if a file changes between the check and the writing', async () => {
    const { main, fix } = branched()
    const env = gitBefore('read-tree', `printf 'mine\\n' > '${join(main, 'a.txt')}'`)
    const { previewMerge, merge } = peopleIn(fix, { env })
    const before = head(main)
    await expect(merge(seen(await previewMerge()))).rejects.toMatchObject({ code: 'conflict' })
    expect([head(main), status(main), read(main, 'a.txt')]).toEqual([before, ' M a.txt\n', 'mine\n'])
    expect(existsSync(join(main, 'new/d.txt'))).toBe(false)
  })

  it('but a program that commits or switches branches during a merge is itself refused', async () => {
    const { main, fix } = branched()
    const tried = join(folderForTest(), 'tried')
    const plain = `env -i PATH='${process.env.PATH}' git -C '${main}' -c user.name=x -c user.email=x@example.com`
    const others = ['commit -q --allow-empty -m other', 'switch -q -c other']
    const env = gitBefore('read-tree', others.map((args) => `${plain} ${args} 2>>'${tried}'`).join('; '))
    const { previewMerge, merge } = peopleIn(fix, { env })
    await merge(seen(await previewMerge()))
    expect(readFileSync(tried, 'utf8').match(/HEAD/g)?.length).toBeGreaterThan(1)
    expect([head(main), git(main, 'symbolic-ref', 'HEAD').trim(), status(main)]).toEqual([
      head(fix),
      'refs/heads/main',
      '',
    ])
  })

  it('if a branch has moved since the preview, or the base branch is checked out somewhere else', async () => {
    const { main, fix, commit } = branched()
    const { previewMerge, merge } = peopleIn(fix, { env: person() })
    const old = seen(await previewMerge())
    commit(main, { 'b.txt': 'main\n' }, 'Meanwhile')
    await expect(merge(old)).rejects.toMatchObject({ code: 'conflict', details: { onto: head(main) } })
    const { folder: _, ...rest } = seen(await previewMerge())
    await expect(merge(rest)).rejects.toMatchObject({ code: 'conflict', details: { folder: main } })
    await expect(merge({ ...rest, folder: fix })).rejects.toMatchObject({ code: 'conflict' })
  })

  it('without commits to merge, with an unfinished merge in the checkout, and without an identity', async () => {
    const { main, fix, commit } = branched()
    const nobody = peopleIn(fix)
    commit(main, { 'b.txt': 'main\n' }, 'Meanwhile')
    expect((await nobody.previewMerge()).refused).toMatchObject({ details: { missing: 'identity' } })
    const { previewMerge, merge } = peopleIn(fix, { env: person() })
    const given = seen(await previewMerge())
    write(main, { '.git/MERGE_HEAD': `${head(fix)}\n` })
    await expect(merge(given)).rejects.toMatchObject({ code: 'conflict', details: { unfinished: 'merge' } })
    rmSync(join(main, '.git/MERGE_HEAD'))
    await merge(given)
    write(fix, { 'late.txt': 'late\n' })
    expect((await previewMerge()).refused?.message).toContain('Commit the changes first')
  })

  it('with a git version that has no merge-tree, unless the branch can be fast-forwarded', async () => {
    const { main, fix, commit } = branched()
    const env = gitBefore(
      'merge-tree',
      'echo "usage: git merge-tree <base-tree> <branch1> <branch2>" >&2; exit 129',
    )
    const { previewMerge, merge } = peopleIn(fix, { env })
    const fast = await previewMerge()
    expect(fast.refused).toBeUndefined()
    commit(main, { 'b.txt': 'main\n' }, 'Meanwhile')
    const { refused } = await previewMerge()
    expect(refused).toMatchObject({ code: 'not_supported', details: { missing: 'merge-tree' } })
    git(main, 'reset', '-q', '--hard', 'HEAD~1')
    await merge(seen(fast))
    expect(head(main)).toBe(head(fix))
  })

  it('if it is not certain where the base branch is checked out', async () => {
    const { main, fix } = branched()
    const { previewMerge } = peopleIn(fix, { env: person() })
    const why = async () => (await previewMerge()).refused
    const twice = join(folderForTest(), 'twice')
    git(main, 'worktree', 'add', '-q', '-f', twice, 'main')
    expect(await why()).toMatchObject({ code: 'not_supported' })
    git(main, 'worktree', 'remove', '--force', twice)
    expect(await why()).toBeUndefined()
    write(main, { '.git/rebase-merge/head-name': 'refs/heads/main\n' })
    git(main, 'checkout', '-q', '--detach')
    expect(await why()).toMatchObject({ code: 'not_supported', message: expect.stringContaining('rebased') })
  })

  it('if a file of the repository names a folder of somebody else as the checkout, or a folder names another repository', async () => {
    const { main, fix } = branched()
    git(main, 'checkout', '-q', '--detach')
    const victim = repository({ 'a.txt': 'one\n' })
    write(main, {
      '.git/worktrees/evil/HEAD': 'ref: refs/heads/main\n',
      '.git/worktrees/evil/commondir': '../..\n',
      '.git/worktrees/evil/gitdir': `${victim}/.git\n`,
    })
    const { previewMerge } = peopleIn(fix, { env: person() })
    expect((await previewMerge()).refused).toMatchObject({ code: 'not_supported' })
    const claims = folderForTest()
    write(claims, { '.git': `gitdir: ${join(main, '.git/worktrees/fix')}\n` })
    await expect(peopleIn(claims, { env: person() }).previewMerge()).rejects.toMatchObject({
      code: 'not_supported',
    })
    const linked = folderForTest()
    symlinkSync(join(main, '.git'), join(linked, '.git'))
    await expect(peopleIn(linked, { env: person() }).previewMerge()).rejects.toMatchObject({
      code: 'not_supported',
    })
    expect(read(victim, 'a.txt')).toBe('one\n')
  })
})

describe('programs of the repository', () => {
  /** A merge driver that takes the side of the branch, and a filter that writes in capitals. */
  function withPrograms() {
    const made = branched({ 'a.txt': 'two\n' })
    const { main, commit } = made
    git(main, 'config', 'merge.theirs.driver', 'cp %B %A')
    write(main, { '.git/info/attributes': 'a.txt merge=theirs\n' })
    commit(main, { 'a.txt': 'main\n' }, 'Meanwhile')
    return made
  }

  it('merge the files of a trusted folder', async () => {
    const { main, fix } = withPrograms()
    const { previewMerge, merge } = peopleIn(fix, { trusted: true, env: person() })
    const preview = await previewMerge()
    expect(preview.conflicts).toEqual([])
    await merge(seen(preview))
    expect(read(main, 'a.txt')).toBe('two\n')
  })

  it('do not run in an untrusted folder, and files with a filter are not merged there', async () => {
    const { main, fix } = withPrograms()
    const { previewMerge } = peopleIn(fix, { env: person() })
    expect((await previewMerge()).conflicts).toEqual(['a.txt'])
    git(main, 'reset', '-q', '--hard', 'HEAD~1')
    write(main, { '.git/info/attributes': '' })
    git(main, 'config', 'filter.lfs.smudge', 'cat')
    write(main, { '.gitattributes': 'a.txt filter=lfs\n' })
    expect((await previewMerge()).refused).toMatchObject({
      code: 'not_supported',
      details: { path: 'a.txt', filter: 'lfs' },
    })
  })
})
