import { existsSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { agentEnvironment, type Environment } from '@parley/adapter-kit/environment'
import { findProgram, pathWithNode } from '@parley/adapter-kit/find-program'
import { runProgram } from '@parley/adapter-kit/run-program'
import { ParleyError } from '@parley/protocol'

/** The npm of this machine, and the environment in which it ran successfully. */
export type Npm = { readonly path: string; readonly env: Readonly<Record<string, string>> }

const startMs = 30_000

/** Settings that npm adds to the environment when it runs this process; they apply to another project. */
const ofAnotherRun = [
  'local_prefix',
  'workspace',
  'workspaces',
  'include_workspace_root',
  'global',
  'location',
  'dry_run',
  'package_lock_only',
  'allow_scripts',
  'call',
  'npm_version',
  'user_agent',
].flatMap((name) => [`npm_config_${name}`, `NPM_CONFIG_${name.toUpperCase()}`])

/**
 * Finds npm. npm selects packages for the Node that it runs on, and the agent will run on the Node of this process,
 * so npm runs on that Node too, if possible. On some systems, npm runs only on the Node of the system.
 */
export async function findNpm(env: Environment, signal?: AbortSignal): Promise<Npm> {
  const path = findProgram({ name: 'npm', env: { PATH: pathWithNodeLast(env.PATH) } })
  if (path === undefined) {
    throw new ParleyError('not_found', 'npm was not found. Install Node.js with npm, or put npm on the PATH.')
  }
  const ownPath = [dirname(path), env.PATH ?? ''].join(delimiter)
  let words = ''
  for (const PATH of [pathWithNode(env.PATH), ownPath]) {
    const npm = { path, env: npmEnvironment(env, path, PATH) }
    const args = ['--version']
    const end = await runProgram({ command: path, args, env: npm.env, timeoutMs: startMs, signal })
    if (end.cut === 'aborted') throw cancelled()
    if (end.exitCode === 0) return npm
    words = end.error?.message ?? (end.stderrTail || `exit code ${end.exitCode}`)
  }
  throw new ParleyError('agent_failed', `npm (${path}) does not start: ${firstLine(words)}`, {
    details: { reason: 'npm' },
  })
}

/** A reduced environment with all the variables that a person may have set for npm. */
function npmEnvironment(from: Environment, npm: string, PATH: string): Record<string, string> {
  const env = agentEnvironment({
    from,
    vendor: ['npm_config_', 'NPM_'],
    without: ofAnotherRun,
    add: { PATH },
  })
  const names = Object.keys(env).map((name) => name.toLowerCase())
  const isConfigured = names.includes('npm_config_globalconfig') || names.includes('npm_config_prefix')
  const globalConfig = join(dirname(npm), '..', 'etc', 'npmrc')
  // npm searches for its global npmrc beside the Node that runs npm. If npm runs on another Node, it would not find
  // the file, so the variable names the file.
  return isConfigured || !existsSync(globalConfig) ? env : { ...env, npm_config_globalconfig: globalConfig }
}

function pathWithNodeLast(path: string | undefined): string {
  return [...(path ? [path] : []), dirname(process.execPath)].join(delimiter)
}

export type NpmRun = {
  readonly cwd: string
  /** The package and version for error messages. */
  readonly package: string
  readonly version: string
  readonly onLine: (line: string) => void
  readonly signal?: AbortSignal | undefined
}

/** Runs npm in `cwd`. Rejects with a ParleyError that contains advice. */
export async function runNpm(npm: Npm, args: readonly string[], run: NpmRun): Promise<void> {
  const { cwd, signal, onLine } = run
  const end = await runProgram({
    command: npm.path,
    args: [...args, '--json', '--loglevel=http', '--no-progress', '--no-update-notifier'],
    cwd,
    env: npm.env,
    signal,
    onLine: (line) => {
      if (!/^npm (error|ERR!)/.test(line)) onLine(line.replace(/^npm (http )?/, ''))
    },
  })
  if (end.cut === 'aborted') throw cancelled()
  if (end.exitCode === 0) return
  throw npmFailure(end.stdout, end.stderrTail, run, end.signal)
}

function npmFailure(stdout: string, stderr: string, run: NpmRun, signal?: string): ParleyError {
  const { code, summary } = npmError(stdout, stderr)
  const words = summary ?? (signal ? `it was ended by ${signal}` : firstLine(stderr) || 'it gave no reason')
  const [reason, message] = explain(code ?? signal, words, run)
  const isMissing = reason === 'package' || reason === 'version'
  return new ParleyError(isMissing ? 'not_found' : 'agent_failed', message, {
    details: { reason, ...(code && { npm: code }), package: run.package, version: run.version },
  })
}

/**
 * The error in the output of npm. A full disk or a file above the size limit may appear only as a warning of tar or as
 * a signal.
 */
function npmError(stdout: string, stderr: string): { code?: string | undefined; summary?: string } {
  const full = /\b(?:TAR_ENTRY_ERROR|error signal) (ENOSPC|EDQUOT|EFBIG|SIGXFSZ)\b/.exec(stderr)?.[1]
  try {
    const { error } = JSON.parse(stdout) as { error?: { code?: string; summary?: string; detail?: string } }
    const words = [error?.summary, error?.code ? undefined : error?.detail].filter(Boolean)
    if (error) return { code: error.code ?? full, summary: firstLine(words.join(', ')) }
  } catch {}
  return { code: /^npm (?:error|ERR!) code (\S+)/m.exec(stderr)?.[1] ?? full }
}

function explain(
  code = '',
  words: string,
  { package: name, version, cwd }: NpmRun,
): [reason: string, message: string] {
  if (code === 'ETARGET') return ['version', `There is no version ${version} of ${name}.`]
  if (code === 'E404') return ['package', `npm's registry has no ${name} ${version}. Check npm's settings.`]
  if (/^(ENOSPC|EDQUOT|EFBIG|SIGXFSZ)$/.test(code)) {
    return [
      'space',
      `There is no space left for ${name} in ${dirname(cwd)} or in npm's cache. Free some space, then try again.`,
    ]
  }
  if (/^(EACCES|EPERM|EROFS)$/.test(code))
    return ['forbidden', `npm lacks permission to write its files: ${words}`]
  if (/^(E401|E403|ENEEDAUTH)$/.test(code)) {
    return [
      'sign-in',
      `npm's registry denies access to ${name} (${code}). Sign in with npm login, or check .npmrc.`,
    ]
  }
  if (/CERT|SELF_SIGNED|ISSUER/.test(code)) {
    return [
      'certificate',
      `npm does not trust the certificate of its registry (${code}). Set cafile in .npmrc.`,
    ]
  }
  if (code === 'EBADPLATFORM') {
    return ['platform', `${name} ${version} does not run on ${process.platform} ${process.arch}.`]
  }
  if (code === 'EINTEGRITY') {
    return ['damaged', `npm's download of ${name} is damaged. Run "npm cache verify", then try again.`]
  }
  if (code === 'ENOTCACHED') return ['network', `npm is set to work offline, and does not have ${name}.`]
  if (/^(ECONN|ENET|EHOST|ENOTFOUND|EAI_|ETIMEDOUT|ERR_SOCKET|FETCH_ERROR|E5\d\d)/.test(code)) {
    const hint = "Check the network connection and npm's registry and proxy settings, then try again."
    return ['network', `npm cannot reach its registry (${code}). ${hint}`]
  }
  return ['npm', `npm could not install ${name} ${version}: ${words}${code ? ` (${code})` : ''}`]
}

export function cancelled(): ParleyError {
  return new ParleyError('cancelled', 'Cancelled; the previous installation is unchanged.')
}

function firstLine(text: string): string {
  return text.trim().split('\n')[0] ?? ''
}
