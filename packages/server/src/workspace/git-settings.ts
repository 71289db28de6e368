import { stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Repository, RepositoryFormat } from './repository.ts'
import { type Environment, runProgram } from './run-git.ts'

export type Settings = ReadonlyMap<string, string>
export type PassedSettings = {
  readonly format: RepositoryFormat
  readonly settings: Settings
  /** True if a setting makes git convert line endings in all texts. */
  readonly converts: boolean
  /** The path of the person's gitattributes file, which need not exist. */
  readonly attributes: string
}
export type SettingsOf = (repository: Repository | undefined) => Promise<PassedSettings>

const freshMs = 60_000
const maxKept = 200

/**
 * Reads the settings that git gets when it reads no configuration itself. They are read again when the configuration
 * of the repository has changed, and after a minute.
 */
export function createSettings(baseOf: (repository: Repository | undefined) => Environment): SettingsOf {
  const known = new Map<
    string,
    { readonly key: string; readonly at: number; found: Promise<PassedSettings> }
  >()

  return async (repository) => {
    const commonDir = repository?.commonDir ?? ''
    const key = repository ? await fileVersion(join(commonDir, 'config')) : ''
    const last = known.get(commonDir)
    if (last?.key === key && Date.now() - last.at < freshMs) return last.found
    if (known.size >= maxKept) known.clear()
    const found = readSettings(baseOf(repository), repository)
    known.set(commonDir, { key, at: Date.now(), found })
    found.catch(() => known.delete(commonDir))
    return found
  }
}

/** A text that changes whenever the file is written; empty if there is no file. */
export async function fileVersion(file: string): Promise<string> {
  const found = await stat(file, { bigint: true }).catch(() => undefined)
  return found ? [found.ino, found.size, found.mtimeNs, found.ctimeNs].join(' ') : ''
}

async function readSettings(base: Environment, repository: Repository | undefined): Promise<PassedSettings> {
  const [own, persons] = await Promise.all([
    repository
      ? listSettings(base, ['--file', join(repository.commonDir, 'config'), '--no-includes'])
      : new Map<string, string>(),
    listSettings(base, ['--includes']),
  ])
  const excludes = persons.get('core.excludesfile')
  const settings = new Map([
    ...harmless(persons),
    ...harmless(own),
    ...(excludes === undefined ? [] : [['core.excludesFile', homePath(excludes, base)] as const]),
  ])
  const attributes = persons.get('core.attributesfile')
  const { HOME = homedir(), XDG_CONFIG_HOME = join(HOME, '.config') } = base
  return {
    format: formatOf(own),
    settings,
    converts: /^(true|yes|on|1|input)$/i.test(settings.get('core.autocrlf') ?? ''),
    attributes: attributes ? homePath(attributes, base) : join(XDG_CONFIG_HOME, 'git/attributes'),
  }
}

const yesOrNo = /^(true|false|yes|no|on|off|1|0)$/i
const text = /^[^\p{Cc}]+$/u
/**
 * The settings that are passed on, with their allowed values. They decide which files count as changed, and who makes
 * a commit. None of them runs a program.
 */
const passedOn: ReadonlyMap<string, RegExp> = new Map([
  ['core.autocrlf', /^(true|false|yes|no|on|off|1|0|input)$/i],
  ['core.eol', /^(lf|crlf|native)$/i],
  ['core.filemode', yesOrNo],
  ['core.ignorecase', yesOrNo],
  ['core.precomposeunicode', yesOrNo],
  ['core.symlinks', yesOrNo],
  ['core.trustctime', yesOrNo],
  ['user.name', text],
  ['user.email', text],
])

const harmless = (settings: Settings) =>
  [...settings].filter(([key, value]) => passedOn.get(key)?.test(value) === true)

function formatOf(settings: Settings): RepositoryFormat {
  return {
    objects: settings.get('extensions.objectformat') === 'sha256' ? 'sha256' : 'sha1',
    refs: settings.get('extensions.refstorage') === 'reftable' ? 'reftable' : 'files',
  }
}

/**
 * The settings in a file or, with `--includes`, those of the person and the system. Listing settings runs no program.
 * A later value of a key replaces an earlier one.
 */
async function listSettings(base: Environment, where: readonly string[]): Promise<Settings> {
  const listed = await runProgram({
    program: 'git',
    env: { ...base, GIT_DIR: '/dev/null' },
    cwd: '/',
    args: ['config', ...where, '-z', '--list'],
  })
  const entries = listed.stdout.split('\0').map((entry) => {
    const end = entry.indexOf('\n')
    return end < 0 ? ([entry, 'true'] as const) : ([entry.slice(0, end), entry.slice(end + 1)] as const)
  })
  return new Map(entries)
}

const homePath = (path: string, { HOME = homedir() }: Environment) =>
  path.startsWith('~/') ? join(HOME, path.slice(2)) : path
