import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The real program as a child process, with its own home and data folder, for tests. */

const repository = new URL('../../../../', import.meta.url).pathname
const main = join(repository, 'packages/server/bin/parley.js')

export type Ended = {
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
}

export type Running = {
  readonly child: ChildProcess
  /** Resolves when the output so far, of both streams, contains the text. */
  until(text: string | RegExp): Promise<string>
  type(text: string): void
  readonly ended: Promise<Ended>
}

export type Home = {
  readonly folder: string
  readonly dataDir: string
  start(args: readonly string[], options?: StartOptions): Running
  run(args: readonly string[], options?: StartOptions): Promise<Ended>
  /** On a pseudo-terminal, made by `script` of util-linux. */
  onTerminal(args: readonly string[]): Running
  [Symbol.asyncDispose](): Promise<void>
}

export type StartOptions = { readonly env?: Record<string, string>; readonly input?: string }

export function createHome(): Home {
  const folder = mkdtempSync(join(tmpdir(), 'parley-cli-'))
  const running: Running[] = []
  const env = { PATH: process.env.PATH ?? '', HOME: folder, TERM: 'xterm', TZ: 'UTC' }

  const begin = (command: string, args: readonly string[], options: StartOptions = {}) => {
    const child = spawn(command, args, { cwd: folder, env: { ...env, ...options.env }, stdio: 'pipe' })
    if (options.input !== undefined) child.stdin.end(options.input)
    const started = watch(child)
    running.push(started)
    return started
  }
  const start = (args: readonly string[], options?: StartOptions) =>
    begin(process.execPath, ['--conditions=source', main, ...args], options)
  return {
    folder,
    dataDir: join(folder, '.parley'),
    start,
    run: (args, options) => start(args, { input: '', ...options }).ended,
    onTerminal(args) {
      const words = [process.execPath, '--conditions=source', main, ...args].map((word) => `'${word}'`)
      return begin('script', ['-qec', words.join(' '), '/dev/null'])
    },
    async [Symbol.asyncDispose]() {
      for (const { child } of running) child.kill('SIGKILL')
      await Promise.all(running.map(({ ended }) => ended))
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

function watch(child: ChildProcess): Running {
  let stdout = ''
  let stderr = ''
  let all = ''
  let isOver = false
  let look: (() => void)[] = []
  const heard = () => {
    const waiting = look
    look = []
    for (const call of waiting) call()
  }
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    all += text
    heard()
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
    all += text
    heard()
  })
  child.stdin?.on('error', () => {})
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (exitCode) => {
      isOver = true
      resolve({ exitCode, stdout, stderr })
      heard()
    })
  })
  return {
    child,
    ended,
    type: (text) => child.stdin?.write(text),
    async until(text) {
      const holds = () => (typeof text === 'string' ? all.includes(text) : text.test(all))
      while (!holds()) {
        if (isOver) throw new Error(`The program ended without ${text}. It said:\n${all}`)
        await new Promise<void>((resolve) => look.push(resolve))
      }
      return all
    },
  }
}
