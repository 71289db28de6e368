import { spawn } from 'node:child_process'
import { homedir } from 'node:os'
import { isAbsolute, join, relative } from 'node:path'
import { ParleyError } from '@parley/protocol'
import { findRepository, type RepositoryFormat, standInFor } from './repository.ts'

/**
 * This file is the only place that runs git. It uses git only to read, and never changes anything.
 *
 * Nothing from an untrusted folder may run. Git runs programs that a configuration names (filters, drivers, monitors,
 * hooks), so the configuration of such a repository is not read at all. A stand-in directory replaces the repository's
 * common directory (GIT_COMMON_DIR). The person's own configuration is disabled too, because attributes of the
 * repository can choose filters from it. No individual setting is overridden, so none can be missed or changed
 * meanwhile.
 */

const maxBytes = 64 * 1024 * 1024
const limitMs = 20_000

export type GitResult = {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
  readonly cut: boolean
}

export type GitLook = readonly [
  'check-ignore' | 'diff' | 'ls-files' | 'rev-parse' | 'symbolic-ref',
  ...string[],
]

export type Git = (args: GitLook, limit?: number) => Promise<GitResult>

/** Returns a function that runs git in a folder. In an untrusted folder, git runs nothing that the folder names. */
export type GitIn = (folder: string, trusted: boolean) => Promise<Git>

type Environment = Readonly<Record<string, string | undefined>>
type Settings = ReadonlyMap<string, string>

export function createGitIn(env: Environment): GitIn {
  return async (folder, trusted) => {
    let known: { readonly key: string; readonly settings: UntrustedSettings } | undefined

    /**
     * The environment for one run of git; undefined if the folder is in no repository. It is computed for each run,
     * because the folder may come to belong to a repository, or to another repository, while it is watched.
     */
    async function environment(): Promise<Environment | undefined> {
      const repository = await findRepository(folder)
      if (!repository) return undefined
      const { gitDir, commonDir, workTree } = repository
      const base = { ...baseEnvironment(env, workTree), GIT_DIR: gitDir, GIT_WORK_TREE: workTree }
      // Trusting a folder inside a repository does not trust the repository.
      if (trusted && workTree === folder) return { ...base, ...asEnvironment(alwaysSet) }
      const key = JSON.stringify(repository)
      if (known?.key !== key) known = { key, settings: await untrustedSettings(base, commonDir) }
      const { format, settings } = known.settings
      return {
        ...base,
        GIT_COMMON_DIR: await standInFor(commonDir, format),
        GIT_OBJECT_DIRECTORY: join(commonDir, 'objects'),
        GIT_CONFIG_GLOBAL: '/dev/null',
        GIT_CONFIG_NOSYSTEM: '1',
        ...asEnvironment(settings),
      }
    }

    return async ([command, ...rest], limit = maxBytes) => {
      const env = await environment()
      if (!env) return notARepository
      return runGit({ env, cwd: folder, args: [command, ...(flags[command] ?? []), ...rest], limit })
    }
  }
}

const notARepository: GitResult = { code: 128, stdout: '', stderr: 'not a git repository', cut: false }

/**
 * Options that are added to a command. A diff does not enter submodules, because git would run programs that
 * they name.
 */
const flags: { readonly [command in GitLook[0]]?: readonly string[] } = {
  diff: ['--no-ext-diff', '--no-textconv', '--no-color', '--ignore-submodules=dirty', '--submodule=short'],
}

const alwaysSet: Settings = new Map([
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', '/dev/null'],
  ['core.quotePath', 'false'],
  ['core.pager', 'cat'],
  ['core.editor', 'false'],
  ['core.askPass', 'false'],
  ['core.sshCommand', 'false'],
  ['credential.helper', ''],
  ['protocol.allow', 'never'],
  ['safe.bareRepository', 'explicit'],
])

/**
 * The environment of every run of git. From the server's environment, only PATH and the location of the
 * person's own files are passed on.
 */
function baseEnvironment({ PATH, HOME, XDG_CONFIG_HOME }: Environment, workTree: string) {
  return {
    PATH: pathOutside(PATH, workTree),
    HOME,
    XDG_CONFIG_HOME,
    LC_ALL: 'C',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: '',
    GIT_PAGER: 'cat',
    GIT_EDITOR: 'false',
    GIT_ASKPASS: 'false',
    GIT_SSH_COMMAND: 'false',
  }
}

/**
 * Drops relative entries of the PATH and entries inside the work tree, because they may contain a program named git.
 */
function pathOutside(path: string | undefined, workTree: string): string {
  const outside = (entry: string) => {
    const inside = relative(workTree, entry)
    return isAbsolute(entry) && (inside === '..' || inside.startsWith('../'))
  }
  return (path ?? '').split(':').filter(outside).join(':')
}

type UntrustedSettings = { readonly format: RepositoryFormat; readonly settings: Settings }

async function untrustedSettings(base: Environment, commonDir: string): Promise<UntrustedSettings> {
  const [own, persons] = await Promise.all([
    listSettings(base, ['--file', join(commonDir, 'config'), '--no-includes']),
    listSettings(base, ['--includes']),
  ])
  const excludes = persons.get('core.excludesfile')
  const settings = new Map([
    ...harmless(persons),
    ...harmless(own),
    ...(excludes === undefined ? [] : [['core.excludesFile', homePath(excludes, base)] as const]),
    ...alwaysSet,
  ])
  return { format: formatOf(own), settings }
}

/**
 * Passes settings to git in environment variables. `-c` is not used, because it splits at the first `=`, even
 * inside a name.
 */
function asEnvironment(settings: Settings): Environment {
  const entries = [...settings].flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ])
  return { GIT_CONFIG_COUNT: String(settings.size), ...Object.fromEntries(entries) }
}

const yesOrNo = /^(true|false|yes|no|on|off|1|0)$/i
/** Settings that decide which files count as changed, with their allowed values. None of them runs a program. */
const passedOn: ReadonlyMap<string, RegExp> = new Map([
  ['core.autocrlf', /^(true|false|yes|no|on|off|1|0|input)$/i],
  ['core.eol', /^(lf|crlf|native)$/i],
  ['core.filemode', yesOrNo],
  ['core.ignorecase', yesOrNo],
  ['core.precomposeunicode', yesOrNo],
  ['core.symlinks', yesOrNo],
  ['core.trustctime', yesOrNo],
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
 * The settings in a file, or the settings of the person and the system. Listing runs nothing. A later value of a key
 * replaces an earlier one.
 */
async function listSettings(base: Environment, where: readonly string[]): Promise<Settings> {
  const listed = await runGit({
    env: { ...base, GIT_DIR: '/dev/null', GIT_WORK_TREE: undefined },
    cwd: '/',
    args: ['config', ...where, '-z', '--list'],
    limit: maxBytes,
  })
  const entries = listed.stdout.split('\0').map((entry) => {
    const end = entry.indexOf('\n')
    return end < 0 ? ([entry, 'true'] as const) : ([entry.slice(0, end), entry.slice(end + 1)] as const)
  })
  return new Map(entries)
}

const homePath = (path: string, { HOME = homedir() }: Environment) =>
  path.startsWith('~/') ? join(HOME, path.slice(2)) : path

type Run = {
  readonly env: Environment
  readonly cwd: string
  readonly args: readonly string[]
  readonly limit: number
}

function runGit({ env, cwd, args, limit }: Run): Promise<GitResult> {
  // check-ignore refuses this option, so its caller writes `./` before each path.
  const literal = args[0] === 'check-ignore' ? [] : ['--literal-pathspecs']
  const child = spawn('git', [...literal, ...args], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    signal: AbortSignal.timeout(limitMs),
    killSignal: 'SIGKILL',
  })
  const chunks: Buffer[] = []
  let size = 0
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= limit) chunks.push(chunk)
    else child.kill('SIGKILL')
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-2_000)
  })
  return new Promise((resolve, reject) => {
    child.on('error', (error: NodeJS.ErrnoException) => reject(cannotRun(error)))
    child.on('close', (code) => {
      const stdout = Buffer.concat(chunks).toString('utf8')
      resolve({ code: code ?? -1, stdout, stderr: stderr.trim(), cut: size > limit })
    })
  })
}

function cannotRun(error: NodeJS.ErrnoException): ParleyError {
  if (error.code === 'ENOENT') {
    return new ParleyError('not_supported', 'git is not installed here. Install it to see changes.', {
      cause: error,
    })
  }
  const message = error.name === 'AbortError' ? 'git took too long' : `git could not be run: ${error.message}`
  return new ParleyError('busy', `${message}. Try again.`, { cause: error })
}
