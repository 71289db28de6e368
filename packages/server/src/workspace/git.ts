import { spawn } from 'node:child_process'
import { ParleyError } from '@parley/protocol'

const mostBytes = 64 * 1024 * 1024
const limitMs = 20_000

export type GitResult = {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
  readonly cut: boolean
}

export type Git = (args: readonly string[], most?: number) => Promise<GitResult>

/** How git is run in a folder. A folder that is not trusted runs nothing of its own. */
export type GitIn = (folder: string, trusted: boolean) => Promise<Git>

export function createGitIn(env: Readonly<Record<string, string | undefined>>): GitIn {
  const { PATH, HOME } = env
  return async (folder, trusted) => {
    const plain: Git = (args, most = mostBytes) => runGit({ PATH, HOME }, folder, args, most)
    const without = trusted ? [] : await withoutFilters(plain)
    return (args, most) => plain([...without, ...args], most)
  }
}

/** Filters are commands that a repository names, run on its files: each one that is set is set to nothing. */
async function withoutFilters(git: Git): Promise<string[]> {
  const { stdout } = await git(['config', '--name-only', '-z', '--get-regexp', '^filter\\.'])
  const names = new Set(stdout.split('\0').flatMap((key) => /^filter\.(.+)\.[^.]+$/s.exec(key)?.[1] ?? []))
  return [...names].flatMap((name) =>
    settings(`filter.${name}.clean=`, `filter.${name}.process=`, `filter.${name}.required=false`),
  )
}

const settings = (...all: string[]) => all.flatMap((one) => ['-c', one])

/**
 * For reading only: takes no locks, asks nobody anything, fetches nothing, and uses no monitor, external diff or text
 * conversion that the repository names.
 */
function runGit(
  env: NodeJS.ProcessEnv,
  cwd: string,
  args: readonly string[],
  most: number,
): Promise<GitResult> {
  const quiet = [
    '--no-optional-locks',
    '--literal-pathspecs',
    ...settings('core.fsmonitor=false', 'core.quotePath=false'),
  ]
  const child = spawn('git', [...quiet, ...args], {
    cwd,
    env: { ...env, LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0', GIT_NO_LAZY_FETCH: '1', GIT_ALLOW_PROTOCOL: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
    signal: AbortSignal.timeout(limitMs),
    killSignal: 'SIGKILL',
  })
  const chunks: Buffer[] = []
  let size = 0
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= most) chunks.push(chunk)
    else child.kill('SIGKILL')
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-2_000)
  })
  return new Promise((resolve, reject) => {
    child.on('error', (error: NodeJS.ErrnoException) => reject(cannotRun(error)))
    child.on('close', (code) => {
      const stdout = Buffer.concat(chunks).toString('utf8')
      resolve({ code: code ?? -1, stdout, stderr: stderr.trim(), cut: size > most })
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
