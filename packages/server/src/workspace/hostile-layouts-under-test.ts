import { appendFileSync, cpSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  filterSection,
  git,
  type HostileCase,
  hostileConfig,
  type Place,
  setUpInner,
  write,
} from './hostile-repository-under-test.ts'

/** Puts the files of a bare repository into the folder `app` of the work tree. */
function setUpBare(place: Place): void {
  const app = join(place.folder, 'app')
  cpSync(join(place.folder, '.git'), app, { recursive: true })
  write(app, {
    'a.txt': 'bare\n',
    '.gitattributes': '*.txt filter=x=y\n',
    config: `[core]\n\trepositoryFormatVersion = 0\n\tbare = false\n\tworktree = .\n${hostileConfig(place)}`,
  })
  place.folder = app
}

/** Arrangements of files that make git read a hostile configuration. */
export const layouts: readonly HostileCase[] = [
  {
    name: 'an embedded repository that is tracked',
    setUp: (place) => {
      setUpInner(place, 'inner')
      git(place.folder, 'add', 'inner')
      git(place.folder, 'commit', '-qm', 'inner')
    },
    proof: 'git diff',
  },
  {
    name: 'an embedded repository that is not tracked',
    setUp: (place) => void setUpInner(place, 'inner'),
    proof: 'git add -A; git diff',
  },
  {
    name: 'a submodule whose git directory is in the repository',
    setUp: (place) => {
      const inner = setUpInner(place, 'sub')
      git(place.folder, 'add', 'sub')
      write(place.folder, {
        '.gitmodules': '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n\tignore = none\n',
      })
      git(place.folder, 'add', '.gitmodules')
      git(place.folder, 'commit', '-qm', 'sub')
      const modules = join(place.folder, '.git/modules')
      mkdirSync(modules)
      renameSync(join(inner, '.git'), join(modules, 'sub'))
      write(inner, { '.git': 'gitdir: ../.git/modules/sub\n' })
      git(place.folder, 'config', 'submodule.sub.active', 'true')
      git(place.folder, 'config', 'submodule.sub.ignore', 'none')
      git(place.folder, 'config', 'diff.submodule', 'diff')
    },
    proof: 'git diff',
  },
  {
    name: 'a submodule whose update is a command',
    setUp: (place) => {
      setUpInner(place, 'sub')
      git(place.folder, 'add', 'sub')
      write(place.folder, { '.gitmodules': '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n' })
      git(place.folder, 'config', 'submodule.sub.url', './sub')
      git(place.folder, 'config', 'submodule.sub.update', `!${place.run}`)
      git(join(place.folder, 'sub'), 'checkout', '-qf', 'HEAD~1')
      rmSync(join(place.root, 'mark'), { force: true })
    },
    proof: 'git submodule update',
  },
  { name: 'the layout of a bare repository in a repository', setUp: setUpBare, proof: 'git status' },
  {
    name: 'the layout of a bare repository in an ordinary folder',
    setUp: (place) => {
      setUpBare(place)
      rmSync(join(place.root, 'repository/.git'), { recursive: true })
    },
    proof: 'git status',
  },
  {
    name: 'a .git file that leads to files of the folder',
    setUp: ({ folder, ...place }) => {
      renameSync(join(folder, '.git'), join(folder, 'stuff'))
      write(folder, { '.git': 'gitdir: stuff\n' })
      appendFileSync(join(folder, 'stuff/config'), hostileConfig({ folder, ...place }))
    },
    proof: 'git status',
  },
  {
    name: 'a .git link that leads to files of the folder',
    setUp: ({ folder, ...place }) => {
      renameSync(join(folder, '.git'), join(folder, 'stuff'))
      symlinkSync('stuff', join(folder, '.git'))
      appendFileSync(join(folder, 'stuff/config'), hostileConfig({ folder, ...place }))
    },
    proof: 'git status',
  },
  {
    name: 'a linked work tree of a hostile repository',
    setUp: (place) => {
      git(place.folder, 'worktree', 'add', '-qb', 'linked', join(place.root, 'linked'))
      appendFileSync(join(place.folder, '.git/config'), hostileConfig(place))
      place.folder = join(place.root, 'linked')
      write(place.folder, { 'a.txt': 'linked\n' })
    },
    proof: 'git status',
  },
  {
    name: 'a configuration of the work tree',
    setUp: (place) => {
      git(place.folder, 'config', 'extensions.worktreeConfig', 'true')
      write(place.folder, { '.git/config.worktree': hostileConfig(place) })
    },
    proof: 'git status',
  },
  {
    name: 'an included configuration',
    setUp: (place) => {
      write(place.folder, { 'evil.config': hostileConfig(place) })
      git(place.folder, 'config', 'include.path', '../evil.config')
    },
    proof: 'git status',
  },
  {
    name: 'a configuration that is included on a condition',
    setUp: (place) => {
      write(place.folder, { 'evil.config': hostileConfig(place) })
      git(place.folder, 'config', 'includeIf.onbranch:main.path', '../evil.config')
    },
    proof: 'git status',
  },
  {
    name: 'attributes of the git directory',
    setUp: (place) => {
      write(place.folder, { '.gitattributes': '', '.git/info/attributes': '*.txt filter=evil\n' })
      appendFileSync(join(place.folder, '.git/config'), filterSection('evil', place))
    },
    proof: 'git diff',
  },
  {
    name: 'a missing object of a partial clone',
    setUp: (place) => {
      const blob = git(place.folder, 'rev-parse', 'HEAD:a.txt').trim()
      rmSync(join(place.folder, '.git/objects', blob.slice(0, 2), blob.slice(2)), { force: true })
      for (const [key, value] of Object.entries({
        'core.repositoryFormatVersion': '1',
        'extensions.partialClone': 'evil',
        'remote.evil.url': '.',
        'remote.evil.promisor': 'true',
        'remote.evil.uploadpack': place.run,
      }))
        git(place.folder, 'config', key, value)
    },
    proof: 'git diff HEAD',
    unreadable: true,
  },
  {
    name: 'alternates that lead to a hostile repository',
    setUp: (place) => {
      const other = setUpInner(place, 'other')
      write(place.folder, { '.git/objects/info/alternates': `${join(other, '.git/objects')}\n` })
    },
    never: 'only objects are read from there',
  },
  {
    name: 'a filter of the person that the attributes choose',
    setUp: (place) => writeFileSync(join(place.root, '.gitconfig'), filterSection('evil', place)),
    env: ({ root }) => ({ HOME: root, GIT_CONFIG_GLOBAL: join(root, '.gitconfig') }),
    proof: 'git diff',
  },
]
