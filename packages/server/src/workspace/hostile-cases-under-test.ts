import { appendFileSync, cpSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { layouts } from './hostile-layouts-under-test.ts'
import {
  filterSection,
  git,
  type HostileCase,
  hostileConfig,
  type Place,
  setUpHooks,
  setUpInner,
  write,
  writeProgram,
} from './hostile-repository-under-test.ts'
import {
  fill,
  filterNames,
  hostileHooks,
  hostileKeys,
  hostileVariables,
  type KeyCase,
  terminal,
} from './hostile-settings-under-test.ts'

function setUpKey({ key, value = 'RUN', also }: KeyCase): HostileCase['setUp'] {
  return (place) => {
    const hooks = join(place.root, 'hooks')
    setUpHooks(hooks, place, Object.keys(hostileHooks))
    const filled = (text: string) => text.replace('RUN', place.run).replace('HOOKS', hooks)
    for (const [name, text] of Object.entries({ ...also, [key]: value }))
      appendFileSync(join(place.folder, '.git/config'), setting(filled(name), filled(text)))
  }
}

/** A setting as text of a configuration file. */
function setting(name: string, value: string): string {
  const [, section = '', subsection, key = ''] = name.match(/^([^.]+)\.(?:(.*)\.)?([^.]+)$/s) ?? []
  const quoted = (text: string) => `"${text.replace(/[\\"]/g, '\\$&')}"`
  const head = subsection === undefined ? section : `${section} ${quoted(subsection)}`
  return `[${head}]\n\t${key} = ${quoted(value)}\n`
}

function setUpFilter(name: string): HostileCase['setUp'] {
  return (place) => {
    write(place.folder, { '.gitattributes': `*.txt filter=${name}\n` })
    appendFileSync(join(place.folder, '.git/config'), filterSection(name, place))
  }
}

/** Variables in the server's own environment, which may exist if a hook or an editor started the server. */
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
      setUp: () => {},
      env: ({ run }) => ({ [name]: run }),
      proof: proofs[name] ?? 'git commit --allow-empty',
    }
  }),
  ...['GIT_TRACE', 'GIT_TRACE2_EVENT'].map(
    (name): HostileCase => ({
      name: `the variable ${name}`,
      setUp: () => {},
      env: ({ mark }) => ({ [name]: mark }),
      proof: 'git status',
    }),
  ),
  {
    name: 'settings in variables',
    setUp: () => {},
    env: ({ run }) => ({
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'core.fsmonitor',
      GIT_CONFIG_VALUE_0: run,
    }),
    proof: 'git status',
  },
  {
    name: 'settings in GIT_CONFIG_PARAMETERS',
    setUp: () => {},
    env: ({ run }) => ({ GIT_CONFIG_PARAMETERS: `'core.fsmonitor'='${run}'` }),
    proof: 'git status',
  },
  {
    name: 'a git directory in GIT_DIR',
    setUp: (place) => appendFileSync(join(setUpInner(place, 'other'), '.git/config'), hostileConfig(place)),
    env: ({ folder }) => ({ GIT_DIR: join(folder, 'other/.git') }),
    proof: 'git status',
  },
  ...['.', '', 'bin', 'FOLDER/bin', 'FOLDER'].map(
    (entry): HostileCase => ({
      name: `a program named git in the folder, and ${JSON.stringify(entry)} in PATH`,
      setUp: (place) => {
        mkdirSync(join(place.folder, 'bin'))
        for (const path of ['git', 'bin/git']) writeProgram(join(place.folder, path), place.mark)
      },
      env: ({ folder }) => ({ PATH: `${entry.replace('FOLDER', folder)}:${process.env.PATH}` }),
      proof: 'git status',
    }),
  ),
]

/** One case with the variables of all cases, except those that hide the repository of the folder from git. */
export const variablesTogether: HostileCase = {
  name: 'all variables',
  setUp: (place) => {
    for (const { name, setUp } of environments) if (name.includes('"bin" in PATH')) setUp(place)
  },
  env: (place) => {
    const entries = ['.', '', 'bin', `${place.folder}/bin`, place.folder]
    const all = environments.filter(({ name }) => !name.includes('GIT_DIR'))
    return {
      ...Object.assign({}, ...all.map(({ env }) => env?.(place))),
      PATH: [...entries, process.env.PATH].join(':'),
    }
  },
  never: 'its variables are also tried one by one',
}

const keyCases = hostileKeys.map((one): HostileCase => {
  const shown = 'proof' in one ? { proof: one.proof } : { never: one.never }
  return { name: `the setting ${one.key}`, setUp: setUpKey(one), ...shown }
})

/**
 * The settings and variables that make plain git run a program: one case each. A group sets up several of them in
 * one folder, because Parley treats all settings in the same way, and all variables in the same way.
 */
export const hostileSettings = keyCases.filter(({ proof }) => proof !== undefined)
export const plainVariables = environments.filter(({ name }) => name.startsWith('the variable '))

/** The cases that are not in `hostileSettings` or `plainVariables`. */
export const hostileCases: readonly HostileCase[] = [
  {
    name: 'settings that plain git does not use when it inspects a folder',
    setUp: (place) => {
      for (const { setUp, never } of keyCases) if (never !== undefined) setUp(place)
    },
    never: 'for the reasons that are given with each setting',
  },
  {
    name: 'all hooks',
    setUp: (place) => setUpHooks(join(place.folder, '.git/hooks'), place, Object.keys(hostileHooks)),
    proof: 'git commit --allow-empty -m x',
  },
  ...filterNames.map(
    (name): HostileCase => ({
      name: `a filter named ${JSON.stringify(name)}`,
      setUp: setUpFilter(name),
      proof: 'git diff',
    }),
  ),
  {
    name: 'a filter whose name has a line break',
    setUp: setUpFilter('a\nb'),
    never: 'git refuses the whole configuration',
  },
  ...layouts,
  ...environments.filter((one) => !plainVariables.includes(one)),
]

/** Groups of at most `size` cases, each as one case. */
export function inGroups(cases: readonly HostileCase[], size: number): HostileCase[] {
  return Array.from({ length: Math.ceil(cases.length / size) }, (_, index) => {
    const group = cases.slice(index * size, (index + 1) * size)
    return {
      name: group.map(({ name }) => name).join(', '),
      setUp: (place) => {
        for (const { setUp } of group) setUp(place)
      },
      env: (place) => Object.assign({}, ...group.map(({ env }) => env?.(place))),
    }
  })
}

export const hookCases = Object.entries(hostileHooks).flatMap(([name, proof]) =>
  proof === undefined
    ? []
    : [{ name, proof, setUp: (place: Place) => setUpHooks(join(place.folder, '.git/hooks'), place, [name]) }],
)

/** Sets up all cases that fit into one repository. */
export function setUpEverything(place: Place): void {
  const names = ['x=y', 'a.b', 'UPPER', 'evil']
  const files = (text: string) =>
    Object.fromEntries(names.map((_, index) => [`f${index}.txt`, text] as const))
  setUpInner(place, 'inner')
  write(place.folder, files('one\n'))
  git(place.folder, 'add', '-A')
  git(place.folder, 'commit', '-qm', 'everything')
  write(place.folder, { 'a.txt': 'more\n', ...files('two\n') })
  const attributes = names.map((name, index) => `f${index}.txt filter=${name} diff=evil\n`).join('')
  write(place.folder, { '.gitattributes': `*.txt filter=evil diff=evil\n${attributes}` })
  for (const one of hostileKeys) setUpKey(one)(place)
  setUpHooks(join(place.folder, '.git/hooks'), place, Object.keys(hostileHooks))
  const sections = names.map((name) => filterSection(name, place)).join('')
  appendFileSync(join(place.folder, '.git/config'), sections)
  cpSync(join(place.folder, '.git'), join(place.folder, 'app'), { recursive: true })
  appendFileSync(join(place.folder, 'app/config'), '[core]\n\tworktree = .\n')
  rmSync(place.mark, { force: true })
}
