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

/**
 * Runs git in a folder, for reading only: it takes no locks, asks nobody anything, and uses no monitor,
 * external diff or text conversion that the repository names. Its filters it does use: without them files would differ.
 */
export type Git = (cwd: string, args: readonly string[], most?: number) => Promise<GitResult>

export function createGit(env: Readonly<Record<string, string | undefined>>): Git {
  const { PATH, HOME } = env
  return (cwd, args, most = mostBytes) => runGit({ PATH, HOME }, cwd, args, most)
}

function runGit(
  env: NodeJS.ProcessEnv,
  cwd: string,
  args: readonly string[],
  most: number,
): Promise<GitResult> {
  const quiet = ['--no-optional-locks', '-c', 'core.fsmonitor=false', '-c', 'core.quotePath=false']
  const child = spawn('git', [...quiet, ...args], {
    cwd,
    env: { ...env, LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0' },
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
