import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { runProgram } from './program.ts'

/** The program with its own home and data folder, for tests: as a child process, or in this process. */

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
  /**
   * Runs a command in this process, which takes a tenth of the time of `start`. Commands run one at a time. Use
   * `start` for `serve` and `acp`, which use the process itself, and for tests of signals.
   */
  run(args: readonly string[], options?: StartOptions): Promise<Ended>
  /** Runs the program on a pseudo-terminal, which `script` of util-linux creates. */
  onTerminal(args: readonly string[], options?: StartOptions): Running
  /** Starts a server as a child process, on a free port. */
  serve(args?: readonly string[], options?: StartOptions): Promise<Served>
  [Symbol.asyncDispose](): Promise<void>
}

/** The process of a server, and its output at the start. */
export type Served = {
  readonly running: Running
  readonly url: string
  readonly token: string
  readonly pid: number
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
    run: (args, options) => runHere(args, folder, { ...options, env: { ...env, ...options?.env } }),
    onTerminal(args, options) {
      const words = [process.execPath, '--conditions=source', main, ...args].map((word) => `'${word}'`)
      return begin('script', ['-qec', words.join(' '), '/dev/null'], options)
    },
    async serve(args = [], options) {
      const running = start(['serve', '--port', '0', '--json', ...args], options)
      const [line = ''] = /\{"url".*\}(?=\n)/.exec(await running.until(/\{"url".*\}\n/)) ?? []
      return { running, ...(JSON.parse(line) as Omit<Served, 'running'>) }
    },
    async [Symbol.asyncDispose]() {
      for (const { child } of running) child.kill('SIGKILL')
      await Promise.all(running.map(({ ended }) => ended))
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

async function runHere(args: readonly string[], cwd: string, options: StartOptions): Promise<Ended> {
  using _ = replaceEnvironment({ ...options.env })
  const { promise, resolve: exit } = Promise.withResolvers<number>()
  const [stdout, stderr] = [new TextSink(), new TextSink()]
  const stdin = Readable.from(options.input ? [Buffer.from(options.input)] : [])
  const { env } = process
  const argv = [process.execPath, main, ...args]
  const given = { argv, env, execArgv: ['--conditions=source'], cwd: () => cwd, stdin, stdout, stderr, exit }
  const before = process.listenerCount('SIGTERM')
  await runProgram(given as unknown as NodeJS.Process)
  if (process.listenerCount('SIGTERM') > before)
    throw new Error(`Use start: ${args[0]} leaves listeners behind.`)
  return { exitCode: await promise, stdout: stdout.text, stderr: stderr.text }
}

class TextSink extends Writable {
  text = ''

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.text += chunk.toString('utf8')
    done()
  }
}

/**
 * Replaces the environment of this process until the result is disposed, because programs that a command starts
 * inherit the environment.
 */
function replaceEnvironment(env: NodeJS.ProcessEnv): Disposable {
  const before = { ...process.env }
  const set = (variables: NodeJS.ProcessEnv) => {
    for (const name of Object.keys(process.env)) if (!(name in variables)) delete process.env[name]
    Object.assign(process.env, variables)
  }
  set(env)
  return { [Symbol.dispose]: () => set(before) }
}

function watch(child: ChildProcess): Running {
  let stdout = ''
  let stderr = ''
  let all = ''
  let isOver = false
  let look: (() => void)[] = []
  const received = () => {
    const waiting = look
    look = []
    for (const call of waiting) call()
  }
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    all += text
    received()
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
    all += text
    received()
  })
  child.stdin?.on('error', () => {})
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (exitCode) => {
      isOver = true
      resolve({ exitCode, stdout, stderr })
      received()
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
