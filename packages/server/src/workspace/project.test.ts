import { execFileSync } from 'node:child_process'
import { mkdirSync, realpathSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { TemporaryFolder } from '../testing/temporary-folder.ts'
import { git, write } from './hostile-repository-under-test.ts'
import { branchOf, findProject } from './project.ts'

let root: TemporaryFolder
beforeEach(() => {
  root = new TemporaryFolder()
})
afterEach(() => {
  vi.unstubAllEnvs()
  root[Symbol.dispose]()
})

const projectOf = async (folder: string) => (await findProject(folder)).project

/** A repository with one commit. */
function repository(name: string): string {
  const folder = join(root.path, name)
  write(folder, { 'src/a.txt': 'a\n' })
  git(folder, 'init', '-q', '-b', 'main')
  git(folder, 'add', '-A')
  git(folder, 'commit', '-qm', 'first')
  return folder
}

function worktreeOf(folder: string, name: string): string {
  const worktree = join(root.path, name)
  git(folder, 'worktree', 'add', '-qb', name, worktree)
  return worktree
}

function folderNamed(name: string): string {
  const folder = join(root.path, name)
  mkdirSync(folder, { recursive: true })
  return folder
}

describe('the project of a folder', () => {
  it('is the folder itself if it is in no repository', async () => {
    const folder = folderNamed('plain')
    expect(await findProject(folder)).toEqual({ project: folder, isRoot: true })
  })

  it('is the common directory of its repository, for the top folder, its subfolders and its worktrees', async () => {
    const app = repository('app')
    const project = join(app, '.git')
    expect(await findProject(app)).toEqual({ project, isRoot: true })
    expect(await findProject(join(app, 'src'))).toEqual({ project, isRoot: false })
    const worktree = worktreeOf(app, 'feature')
    expect(await findProject(worktree)).toEqual({ project, isRoot: true })
    expect(await findProject(join(worktree, 'src'))).toEqual({ project, isRoot: false })
  })

  it('is the same for a worktree that was made through a link, or with relative paths, or was moved', async () => {
    const app = repository('app')
    symlinkSync(root.path, join(root.path, 'link'))
    git(app, 'worktree', 'add', '-qb', 'linked', join(root.path, 'link', 'linked'))
    expect(await projectOf(join(root.path, 'linked'))).toBe(join(app, '.git'))

    const relative = worktreeOf(app, 'relative')
    write(relative, { '.git': 'gitdir: ../app/.git/worktrees/relative\n' })
    write(app, { '.git/worktrees/relative/gitdir': '../../../../relative/.git\n' })
    expect(await projectOf(relative)).toBe(join(app, '.git'))

    worktreeOf(app, 'before')
    git(app, 'worktree', 'move', join(root.path, 'before'), join(root.path, 'after'))
    expect(await projectOf(join(root.path, 'after'))).toBe(join(app, '.git'))
  })

  it('is the bare repository, for its worktrees', async () => {
    const bare = join(root.path, 'app.git')
    git(root.path, 'clone', '-q', '--bare', repository('app'), bare)
    expect(await findProject(worktreeOf(bare, 'tree'))).toEqual({ project: bare, isRoot: true })
  })

  it('is its own for a repository inside another one, and for a submodule', async () => {
    const app = repository('app')
    const inner = join(app, 'inner')
    git(root.path, 'clone', '-q', app, inner)
    expect(await projectOf(inner)).toBe(join(inner, '.git'))
    git(app, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', repository('lib'), 'lib')
    expect(await findProject(join(app, 'lib'))).toEqual({ project: join(app, 'lib', '.git'), isRoot: true })
  })

  it('is the folder itself, not a repository of settings in the home folder, except for the home folder', async () => {
    const home = repository('home')
    vi.stubEnv('HOME', home)
    expect(await projectOf(home)).toBe(join(home, '.git'))
    expect(await findProject(join(home, 'src'))).toEqual({ project: join(home, 'src'), isRoot: true })
  })
})

function writeHuge(file: string): void {
  writeFileSync(file, 'ref: refs/heads/x')
  truncateSync(file, 5_000_000_000)
}

/** Each function makes a folder that pretends to belong to the repository `victim`, and returns the folder. */
const forgeries: Record<string, (victim: string) => string> = {
  'a .git file with the path of the repository': (victim) => {
    const folder = folderNamed('evil')
    write(folder, { '.git': `gitdir: ${victim}/.git\n` })
    return folder
  },
  'a .git file with the path of a worktree of the repository': (victim) => {
    worktreeOf(victim, 'feature')
    const folder = folderNamed('evil')
    write(folder, { '.git': `gitdir: ${victim}/.git/worktrees/feature\n` })
    return folder
  },
  'a copied worktree': (victim) => {
    const folder = join(root.path, 'evil')
    execFileSync('cp', ['-a', worktreeOf(victim, 'feature'), folder])
    return folder
  },
  'a .git link to the repository': (victim) => {
    const folder = folderNamed('evil')
    symlinkSync(join(victim, '.git'), join(folder, '.git'))
    return folder
  },
  'a .git link to the .git file of a worktree': (victim) => {
    const folder = folderNamed('evil')
    symlinkSync(join(worktreeOf(victim, 'feature'), '.git'), join(folder, '.git'))
    return folder
  },
  'a commondir that names the repository': (victim) => {
    const folder = repository('evil')
    write(folder, { '.git/commondir': `${victim}/.git\n` })
    return folder
  },
  'a git directory of its own, registered with itself, whose commondir names the repository': (victim) => {
    const folder = folderNamed('evil')
    const place = join(root.path, 'store/worktrees/evil')
    write(folder, { '.git': `gitdir: ${place}\n` })
    write(place, {
      HEAD: 'ref: refs/heads/main\n',
      commondir: `${victim}/.git\n`,
      gitdir: `${folder}/.git\n`,
    })
    return folder
  },
  'a git directory that is reached through a link into the repository': (victim) => {
    worktreeOf(victim, 'feature')
    const folder = folderNamed('evil')
    symlinkSync(join(victim, '.git'), join(root.path, 'store'))
    write(folder, { '.git': `gitdir: ${root.path}/store/worktrees/feature\n` })
    return folder
  },
  'a worktree whose folder was replaced by a link': (victim) => {
    const worktree = worktreeOf(victim, 'feature')
    const folder = folderNamed('evil')
    write(folder, { '.git': `gitdir: ${victim}/.git/worktrees/feature\n` })
    rmSync(worktree, { recursive: true })
    symlinkSync(join(root.path, 'other'), worktree)
    folderNamed('other')
    return folder
  },
}

describe('a folder does not become part of the project of another repository by', () => {
  it.each(Object.entries(forgeries))('%s', async (_, forge) => {
    const victim = repository('victim')
    const folder = forge(victim)
    expect(await findProject(folder)).toEqual({ project: join(folder, '.git'), isRoot: true })
    expect(await projectOf(victim)).toBe(join(victim, '.git'))
    // The branch of the other repository is not shown either.
    expect(await branchOf(folder)).not.toBe('feature')
  })
})

describe('the branch of a folder', () => {
  it('is read from HEAD, of the top folder, a subfolder, a worktree, and before the first commit', async () => {
    const app = repository('app')
    git(app, 'checkout', '-qb', 'feature/ünï')
    expect(await branchOf(join(app, 'src'))).toBe('feature/ünï')
    expect(await branchOf(worktreeOf(app, 'tree'))).toBe('tree')
    const empty = folderNamed('empty')
    git(empty, 'init', '-q', '-b', 'trunk')
    expect(await branchOf(empty)).toBe('trunk')
  })

  it('is unknown without a repository, and when a commit is checked out', async () => {
    expect(await branchOf(folderNamed('plain'))).toBeUndefined()
    const app = repository('app')
    git(app, 'checkout', '-q', '--detach')
    expect(await branchOf(app)).toBeUndefined()
  })

  it.each<[string, (head: string) => void]>([
    ['a pipe', (head) => void execFileSync('mkfifo', [head])],
    ['a folder', (head) => mkdirSync(head)],
    ['a link', (head) => symlinkSync(join(dirname(head), 'elsewhere'), head)],
    ['a huge file', writeHuge],
    ['a long name', (head) => writeFileSync(head, `ref: refs/heads/${'x'.repeat(300)}\n`)],
    ['a name with control characters', (head) => writeFileSync(head, 'ref: refs/heads/a\u001b[2Jb\n')],
    ['several lines', (head) => writeFileSync(head, 'ref: refs/heads/a\nref: refs/heads/b\n')],
    ['the placeholder of another format', (head) => writeFileSync(head, 'ref: refs/heads/.invalid\n')],
    ['a ref that is no branch', (head) => writeFileSync(head, 'ref: refs/tags/v1\n')],
  ])('is unknown if HEAD is %s', async (_, replace) => {
    const app = repository('app')
    write(app, { '.git/elsewhere': 'ref: refs/heads/secret\n' })
    rmSync(join(app, '.git/HEAD'))
    replace(join(app, '.git/HEAD'))
    expect(await branchOf(app)).toBeUndefined()
    expect(await projectOf(realpathSync(app))).toBe(join(app, '.git'))
  })
})
