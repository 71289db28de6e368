import { execFileSync, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import {
  fill,
  filterNames,
  hostileHooks,
  hostileKeys,
  hostileVariables,
  type KeyCase,
  terminal,
} from './hostile-settings-under-test.ts'

/** Repositories that try to run a program when they are inspected. Any program that runs creates the mark file. */

export type Place = {
  /** The folder to inspect; usually the top of the repository. */
  folder: string
  readonly root: string
  /** A program that creates the mark and, as a filter, copies its input to its output. */
  readonly run: string
  readonly mark: string
}

export type HostileCase = {
  readonly name: string
  lay(place: Place): void
  /** A shell command in the folder with which plain git runs the program. */
  readonly proof?: string
  /** Why plain git does not run it, if it does not. */
  readonly never?: string
  /** The environment of the server, if that is the attack. */
  env?(place: Place): Record<string, string>
  /** Git refuses to read the repository, so there are no changes to see. */
  readonly unreadable?: boolean
}

const identity = { GIT_AUTHOR_NAME: 'p', GIT_AUTHOR_EMAIL: 'p@example.com', GIT_COMMITTER_NAME: 'p' }
const plainEnv = {
  PATH: process.env.PATH ?? '',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  ...identity,
  GIT_COMMITTER_EMAIL: 'p@example.com',
}

export function git(folder: string, ...args: string[]): string {
  return execFileSync('git', args, { cwd: folder, env: plainEnv, encoding: 'utf8', stdio: 'pipe' })
}

let model: string | undefined

/** Every text file of the base repository names a filter, a diff driver and a merge driver. */
function modelRepository(): string {
  if (model !== undefined) return model
  const folder = mkdtempSync(join(tmpdir(), 'parley-hostile-model-'))
  git(folder, 'init', '-q', '-b', 'main')
  write(folder, { 'a.txt': 'a\n', '.gitattributes': '*.txt filter=evil diff=evil merge=evil\n' })
  git(folder, 'add', '-A')
  git(folder, 'commit', '-qm', 'first')
  git(folder, 'checkout', '-qb', 'side')
  write(folder, { 'a.txt': 'side\n' })
  git(folder, 'commit', '-qam', 'side')
  git(folder, 'checkout', '-q', 'main')
  write(folder, { 'a.txt': 'main\n' })
  git(folder, 'commit', '-qam', 'second')
  // The same length as before, so that git has to read the file to see that it differs.
  write(folder, { 'a.txt': 'edit\n', 'new.txt': 'new\n' })
  model = folder
  return folder
}

export function removeModel(): void {
  if (model !== undefined) rmSync(model, { recursive: true, force: true })
  model = undefined
}

export function layOut(lay: HostileCase['lay']): Place & Disposable {
  const root = mkdtempSync(join(tmpdir(), 'parley-hostile-'))
  const place = { root, folder: join(root, 'repository'), run: join(root, 'run'), mark: join(root, 'mark') }
  cpSync(modelRepository(), place.folder, { recursive: true })
  writeProgram(place.run, place.mark)
  lay(place)
  return { ...place, [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }) }
}

export const ran = ({ mark }: Place) => existsSync(mark)

/** Whether plain git runs the program. */
export function plainGitRuns(place: Place, proof: string, env: Record<string, string> = {}): boolean {
  rmSync(place.mark, { force: true })
  spawnSync('sh', ['-c', proof], {
    cwd: place.folder,
    env: { ...plainEnv, HOME: place.root, TERM: 'xterm', ...env },
    input: '',
    timeout: 20_000,
  })
  return ran(place)
}

function writeProgram(path: string, mark: string): void {
  writeFileSync(path, `#!/bin/sh\ntouch '${mark}'\n[ $# -gt 0 ] || cat\n`)
  chmodSync(path, 0o755)
}

function write(folder: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

function layKey({ key, value = 'RUN', also }: KeyCase): HostileCase['lay'] {
  return (place) => {
    const hooks = join(place.root, 'hooks')
    layHooks(hooks, place, Object.keys(hostileHooks))
    const filled = (text: string) => text.replace('RUN', place.run).replace('HOOKS', hooks)
    for (const [name, text] of Object.entries({ ...also, [key]: value }))
      git(place.folder, 'config', filled(name), filled(text))
  }
}

function layHooks(folder: string, place: Place, names: readonly string[]): void {
  mkdirSync(folder, { recursive: true })
  for (const name of names) writeProgram(join(folder, name), place.mark)
}

const quoted = (name: string) => `"${name.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
const filterSection = (name: string, { run }: Place) => `[filter ${quoted(name)}]\n\tclean = ${run}\n`

function layFilter(name: string): HostileCase['lay'] {
  return (place) => {
    write(place.folder, { '.gitattributes': `*.txt filter=${name}\n` })
    appendFileSync(join(place.folder, '.git/config'), filterSection(name, place))
  }
}

/** A repository inside the folder, with changed files and a filter that creates the mark. */
function layInner(place: Place, name: string): string {
  const inner = join(place.folder, name)
  cpSync(modelRepository(), inner, { recursive: true })
  appendFileSync(join(inner, '.git/config'), filterSection('evil', place))
  return inner
}

const hostileConfig = (place: Place) =>
  `[core]\n\tfsmonitor = ${place.run}\n${filterSection('evil', place)}${filterSection('x=y', place)}`

/** The files of a bare repository, committed as ordinary files. */
function layBare(place: Place): void {
  const app = join(place.folder, 'app')
  cpSync(join(place.folder, '.git'), app, { recursive: true })
  write(app, {
    'a.txt': 'bare\n',
    '.gitattributes': '*.txt filter=x=y\n',
    config: `[core]\n\trepositoryFormatVersion = 0\n\tbare = false\n\tworktree = .\n${hostileConfig(place)}`,
  })
  place.folder = app
}

const layouts: readonly HostileCase[] = [
  {
    name: 'an embedded repository that is tracked',
    lay: (place) => {
      layInner(place, 'inner')
      git(place.folder, 'add', 'inner')
      git(place.folder, 'commit', '-qm', 'inner')
    },
    proof: 'git diff',
  },
  {
    name: 'an embedded repository that is not tracked',
    lay: (place) => void layInner(place, 'inner'),
    proof: 'git add -A; git diff',
  },
  {
    name: 'a submodule whose git directory is in the repository',
    lay: (place) => {
      const inner = layInner(place, 'sub')
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
    lay: (place) => {
      layInner(place, 'sub')
      git(place.folder, 'add', 'sub')
      write(place.folder, { '.gitmodules': '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n' })
      git(place.folder, 'config', 'submodule.sub.url', './sub')
      git(place.folder, 'config', 'submodule.sub.update', `!${place.run}`)
      git(join(place.folder, 'sub'), 'checkout', '-qf', 'HEAD~1')
      rmSync(join(place.root, 'mark'), { force: true })
    },
    proof: 'git submodule update',
  },
  { name: 'the layout of a bare repository in a repository', lay: layBare, proof: 'git status' },
  {
    name: 'the layout of a bare repository in an ordinary folder',
    lay: (place) => {
      layBare(place)
      rmSync(join(place.root, 'repository/.git'), { recursive: true })
    },
    proof: 'git status',
  },
  {
    name: 'a .git file that leads to files of the folder',
    lay: ({ folder, ...place }) => {
      renameSync(join(folder, '.git'), join(folder, 'stuff'))
      write(folder, { '.git': 'gitdir: stuff\n' })
      appendFileSync(join(folder, 'stuff/config'), hostileConfig({ folder, ...place }))
    },
    proof: 'git status',
  },
  {
    name: 'a .git link that leads to files of the folder',
    lay: ({ folder, ...place }) => {
      renameSync(join(folder, '.git'), join(folder, 'stuff'))
      symlinkSync('stuff', join(folder, '.git'))
      appendFileSync(join(folder, 'stuff/config'), hostileConfig({ folder, ...place }))
    },
    proof: 'git status',
  },
  {
    name: 'a linked work tree of a hostile repository',
    lay: (place) => {
      git(place.folder, 'worktree', 'add', '-qb', 'linked', join(place.root, 'linked'))
      appendFileSync(join(place.folder, '.git/config'), hostileConfig(place))
      place.folder = join(place.root, 'linked')
      write(place.folder, { 'a.txt': 'linked\n' })
    },
    proof: 'git status',
  },
  {
    name: 'a configuration of the work tree',
    lay: (place) => {
      git(place.folder, 'config', 'extensions.worktreeConfig', 'true')
      write(place.folder, { '.git/config.worktree': hostileConfig(place) })
    },
    proof: 'git status',
  },
  {
    name: 'an included configuration',
    lay: (place) => {
      write(place.folder, { 'evil.config': hostileConfig(place) })
      git(place.folder, 'config', 'include.path', '../evil.config')
    },
    proof: 'git status',
  },
  {
    name: 'a configuration that is included on a condition',
    lay: (place) => {
      write(place.folder, { 'evil.config': hostileConfig(place) })
      git(place.folder, 'config', 'includeIf.onbranch:main.path', '../evil.config')
    },
    proof: 'git status',
  },
  {
    name: 'attributes of the git directory',
    lay: (place) => {
      write(place.folder, { '.gitattributes': '', '.git/info/attributes': '*.txt filter=evil\n' })
      appendFileSync(join(place.folder, '.git/config'), filterSection('evil', place))
    },
    proof: 'git diff',
  },
  {
    name: 'a missing object of a partial clone',
    lay: (place) => {
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
    lay: (place) => {
      const other = layInner(place, 'other')
      write(place.folder, { '.git/objects/info/alternates': `${join(other, '.git/objects')}\n` })
    },
    never: 'only objects are read from there',
  },
  {
    name: 'a filter of the person that the attributes choose',
    lay: (place) => writeFileSync(join(place.root, '.gitconfig'), filterSection('evil', place)),
    env: ({ root }) => ({ HOME: root, GIT_CONFIG_GLOBAL: join(root, '.gitconfig') }),
    proof: 'git diff',
  },
]

/** The server's own environment, as it may be if a hook or an editor started the server. */
const environments: readonly HostileCase[] = [
  ...hostileVariables.map((name): HostileCase => {
    const proofs: Partial<Record<string, string>> = {
      GIT_EXTERNAL_DIFF: 'git diff',
      GIT_PAGER: terminal('git diff'),
      PAGER: terminal('git diff'),
      GIT_SEQUENCE_EDITOR: 'git stash -q; git rebase -i HEAD~1',
      GIT_ASKPASS: fill,
      SSH_ASKPASS: fill,
      GIT_SSH: 'git ls-remote ssh://127.0.0.1/x',
      GIT_SSH_COMMAND: 'git ls-remote ssh://127.0.0.1/x',
      GIT_PROXY_COMMAND: 'git ls-remote git://127.0.0.1/x',
    }
    return {
      name: `the variable ${name}`,
      lay: () => {},
      env: ({ run }) => ({ [name]: run }),
      proof: proofs[name] ?? 'git commit --allow-empty',
    }
  }),
  ...['GIT_TRACE', 'GIT_TRACE2_EVENT'].map(
    (name): HostileCase => ({
      name: `the variable ${name}`,
      lay: () => {},
      env: ({ mark }) => ({ [name]: mark }),
      proof: 'git status',
    }),
  ),
  {
    name: 'settings in variables',
    lay: () => {},
    env: ({ run }) => ({
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'core.fsmonitor',
      GIT_CONFIG_VALUE_0: run,
    }),
    proof: 'git status',
  },
  {
    name: 'settings in GIT_CONFIG_PARAMETERS',
    lay: () => {},
    env: ({ run }) => ({ GIT_CONFIG_PARAMETERS: `'core.fsmonitor'='${run}'` }),
    proof: 'git status',
  },
  {
    name: 'a git directory in GIT_DIR',
    lay: (place) => appendFileSync(join(layInner(place, 'other'), '.git/config'), hostileConfig(place)),
    env: ({ folder }) => ({ GIT_DIR: join(folder, 'other/.git') }),
    proof: 'git status',
  },
  ...['.', '', 'bin', 'FOLDER/bin', 'FOLDER'].map(
    (entry): HostileCase => ({
      name: `a program named git in the folder, and ${JSON.stringify(entry)} in PATH`,
      lay: (place) => {
        mkdirSync(join(place.folder, 'bin'))
        for (const path of ['git', 'bin/git']) writeProgram(join(place.folder, path), place.mark)
      },
      env: ({ folder }) => ({ PATH: `${entry.replace('FOLDER', folder)}:${process.env.PATH}` }),
      proof: 'git status',
    }),
  ),
]

const keyCases = hostileKeys.map((one): HostileCase => {
  const shown = 'proof' in one ? { proof: one.proof } : { never: one.never }
  return { name: `the setting ${one.key}`, lay: layKey(one), ...shown }
})

/** Each case is set up alone; those that plain git never runs are set up together. */
export const hostileCases: readonly HostileCase[] = [
  ...keyCases.filter(({ proof }) => proof !== undefined),
  {
    name: 'settings that plain git does not use when it looks',
    lay: (place) => {
      for (const { lay, never } of keyCases) if (never !== undefined) lay(place)
    },
    never: 'for the reasons that stand beside each',
  },
  {
    name: 'all hooks',
    lay: (place) => layHooks(join(place.folder, '.git/hooks'), place, Object.keys(hostileHooks)),
    proof: 'git commit --allow-empty -m x',
  },
  ...filterNames.map(
    (name): HostileCase => ({
      name: `a filter named ${JSON.stringify(name)}`,
      lay: layFilter(name),
      proof: 'git diff',
    }),
  ),
  {
    name: 'a filter whose name has a line break',
    lay: layFilter('a\nb'),
    never: 'git refuses the whole configuration',
  },
  ...layouts,
  ...environments,
]

export const hookCases = Object.entries(hostileHooks).flatMap(([name, proof]) =>
  proof === undefined
    ? []
    : [{ name, proof, lay: (place: Place) => layHooks(join(place.folder, '.git/hooks'), place, [name]) }],
)

/** All cases at once, as far as they fit into one repository. */
export function layEverything(place: Place): void {
  const names = ['x=y', 'a.b', 'UPPER', 'evil']
  const files = (text: string) =>
    Object.fromEntries(names.map((_, index) => [`f${index}.txt`, text] as const))
  layInner(place, 'inner')
  write(place.folder, files('one\n'))
  git(place.folder, 'add', '-A')
  git(place.folder, 'commit', '-qm', 'everything')
  write(place.folder, { 'a.txt': 'more\n', ...files('two\n') })
  const attributes = names.map((name, index) => `f${index}.txt filter=${name} diff=evil\n`).join('')
  write(place.folder, { '.gitattributes': `*.txt filter=evil diff=evil\n${attributes}` })
  for (const one of hostileKeys) layKey(one)(place)
  layHooks(join(place.folder, '.git/hooks'), place, Object.keys(hostileHooks))
  const sections = names.map((name) => filterSection(name, place)).join('')
  appendFileSync(join(place.folder, '.git/config'), sections)
  cpSync(join(place.folder, '.git'), join(place.folder, 'app'), { recursive: true })
  appendFileSync(join(place.folder, 'app/config'), '[core]\n\tworktree = .\n')
  rmSync(place.mark, { force: true })
}

/** Keys of the installed git whose names suggest that they name a program. */
export function soundingKeys(): string[] {
  const sound =
    /(cmd|command|program|helper|editor|pager|askpass|hook|driver|textconv|clean|smudge|process|external|filter|tool|browser|proxy|tunnel|vcs|(upload|receive)pack|update|template|templatedir|fsmonitor|path|server|\.\*)>?$/i
  return git(tmpdir(), 'help', '-c')
    .split('\n')
    .filter((key) => /^[a-z]+\./i.test(key) && sound.test(key))
}
