import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export { randomFrom } from '../../packages/server/src/testing/random-from.ts'

/** A real server process on its own data folder, which can be killed and restarted at the same address. */
export class KillableServer {
  readonly folder = mkdtempSync(join(tmpdir(), 'parley-kill-'))
  readonly token = 'a-token-for-the-kill-test'
  /** The environment of Claude, with the address of its model; without it Claude is not signed in. */
  claudeEnvironment: Readonly<Record<string, string>> = {}
  /** Variables of the server process in addition to the variables of the test. */
  environment: Readonly<Record<string, string | undefined>> = {}
  /** The server's log, for a failing test to show. */
  log = ''
  port = 0
  #process: ChildProcess | undefined

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  get dataDir(): string {
    return join(this.folder, 'data')
  }

  async start(): Promise<void> {
    const entry = new URL('./server-process.ts', import.meta.url).pathname
    const child = spawn(
      process.execPath,
      [
        '--conditions=source',
        '--disable-warning=ExperimentalWarning',
        entry,
        this.dataDir,
        String(this.port),
        this.token,
        JSON.stringify(this.claudeEnvironment),
      ],
      { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...this.environment } },
    )
    this.#process = child
    child.stderr!.on('data', (text) => {
      this.log += text
    })
    const ready = once(createInterface({ input: child.stdout! }), 'line')
    const [line] = await Promise.race([
      ready,
      once(child, 'exit').then(([code]) => {
        throw new Error(`the server ended with ${code}: ${this.log}`)
      }),
    ])
    this.port = (JSON.parse(line as string) as { port: number }).port
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#process
    if (!child || !this.isRunning) return
    const exit = once(child, 'exit')
    child.kill(signal)
    await exit
  }

  get isRunning(): boolean {
    const child = this.#process
    return child !== undefined && child.exitCode === null && child.signalCode === null
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    if (this.isRunning) this.#process?.kill(signal)
  }

  async dispose(): Promise<void> {
    await this.end('SIGKILL')
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** Waits. Kill tests choose the time of a kill at random, because they test the timing of kills. */
export function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
