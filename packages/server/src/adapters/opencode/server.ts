import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { createOpencodeClient, type OpencodeClient } from '@opencode-ai/sdk/v2/client'
import { AgentProcess } from '@parley/adapter-kit/child-process'
import { markVariable } from '@parley/adapter-kit/marked-processes'
import { unlessAborted } from '@parley/adapter-kit/time-limit'
import { ParleyError } from '@parley/protocol'
import { errorText } from './native.ts'
import { oldestVersion } from './server-info.ts'

/** The time limit for a server to exit after SIGTERM. Most servers exit at once, some never do. */
const termGraceMs = 1_500
/** The time limit for the response to a liveness check. */
const healthMs = 10_000
const maxLineLength = 10_000
const listening = /^opencode server listening on (http:\/\/\S+)/

export type ServerStart = {
  readonly program: string
  readonly env: Readonly<Record<string, string>>
}

/** One `opencode serve` on a loopback port of its own, protected by a password. Its children inherit the password. */
export class OpenCodeServer {
  readonly #process = new AgentProcess()
  readonly #password = randomBytes(24).toString('base64url')
  readonly #gone = Promise.withResolvers<void>()
  #pid: number | undefined
  #url = ''
  #ended: Promise<void> | undefined
  #checking = false
  #stopWatchdog: () => void = () => undefined

  /** Resolves when the server listens. If the start fails, rejects and leaves no process behind. */
  async start({ program, env }: ServerStart): Promise<void> {
    const port = await freePort()
    if (this.#ended) throw new ParleyError('cancelled', 'Cancelled before OpenCode was started.')
    const child = this.#process.spawn({
      command: program,
      args: ['serve', '--hostname', '127.0.0.1', '--port', String(port)],
      // The working directory is not the session's folder, because the program reads a `.env` file from its working
      // directory.
      cwd: env.HOME !== undefined && existsSync(env.HOME) ? env.HOME : '/',
      env: { ...env, OPENCODE_SERVER_PASSWORD: this.#password },
    })
    child.stdin.on('error', () => undefined)
    child.once('exit', () => this.#leave())
    this.#pid = child.pid
    if (child.pid !== undefined) this.#stopWatchdog = startWatchdog(child.pid, this.#process.mark)
    try {
      this.#url = await new Promise<string>((resolve, reject) => {
        child.once('error', (error) => reject(error))
        child.once('exit', () => reject(new Error('it ended before it was ready')))
        readLines(child.stdout, (line) => {
          const url = listening.exec(line)?.[1]
          if (url !== undefined) resolve(url)
        })
      })
    } catch (error) {
      await this.end()
      throw this.#cannotStart(program, error)
    }
  }

  get alive(): boolean {
    return this.#url !== '' && this.#ended === undefined && !this.#process.ended
  }

  /** Resolves when the process has ended for any reason. */
  get gone(): Promise<void> {
    return this.#gone.promise
  }

  exitDetails() {
    return this.#process.exitDetails()
  }

  /**
   * A client for one folder, or for data that belongs to no folder. OpenCode stores data separately for each folder.
   */
  client(directory?: string): OpencodeClient {
    const credential = Buffer.from(`opencode:${this.#password}`).toString('base64')
    return createOpencodeClient({
      baseUrl: this.#url,
      ...(directory !== undefined && { directory }),
      headers: { authorization: `Basic ${credential}` },
    })
  }

  /** True during a liveness check or while the server is being ended: new sessions must not use it. */
  get isUncertain(): boolean {
    return this.#checking || this.#ended !== undefined
  }

  /** Starts a liveness check. A server that does not respond is ended for all its sessions. */
  checkAlive(): void {
    if (this.#checking || !this.alive) return
    this.#checking = true
    void this.responds().then((responds) => {
      this.#checking = false
      if (!responds) return this.end()
    })
  }

  /** Asks the server whether it is alive. Its process may have died unnoticed. */
  async responds(): Promise<boolean> {
    try {
      await this.client().global.health({ throwOnError: true, signal: AbortSignal.timeout(healthMs) })
      return true
    } catch {
      return false
    }
  }

  /** Ends the server and all its descendants. Idempotent. */
  end(): Promise<void> {
    this.#ended ??= this.#end()
    return this.#ended
  }

  /** Kills the server and all its descendants at once, for all its sessions. */
  kill(): void {
    this.#ended ??= Promise.resolve()
    this.#process.killAll()
  }

  async #end(): Promise<void> {
    if (this.#pid !== undefined) {
      this.#process.kill('SIGTERM')
      await this.#process.gone(termGraceMs)
      this.#process.kill()
      await this.#process.gone(termGraceMs)
    }
    this.#leave()
  }

  #leave(): void {
    this.#stopWatchdog()
    this.#process.killAll()
    this.#gone.resolve()
  }

  #cannotStart(program: string, error: unknown): ParleyError {
    const { exitCode, stderrTail } = this.exitDetails()
    const code = exitCode === undefined || exitCode === null ? '' : ` (exit code ${exitCode})`
    const message = `${program} did not start as an OpenCode server: ${errorText(error)}${code}. Parley needs OpenCode ${oldestVersion} or later; to check it, run "parley doctor".`
    return new ParleyError('agent_failed', message, {
      details: { ...(stderrTail !== undefined && { stderrTail }) },
      cause: error,
    })
  }
}

/**
 * Returns a free port. If OpenCode chose the port, it would be the same each time, and connections that remain from
 * an earlier server would be mistaken for connections to this one.
 */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
}

/** Reads to the end, so that the writer never blocks. If a line is too long, only its start is passed to `take`. */
function readLines(stream: NodeJS.ReadableStream, take: (line: string) => void): void {
  let rest = ''
  stream.setEncoding('utf8')
  stream.on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = (lines.pop() ?? '').slice(0, maxLineLength)
    for (const line of lines) take(line.trim())
  })
}

/** A server that a session uses until it calls `release`. */
export type SharedServer = { readonly server: OpenCodeServer; readonly release: () => Promise<void> }

type Shared = { readonly server: OpenCodeServer; readonly ready: Promise<void>; users: number }

/** The running servers, each for all sessions that can share it. A server ends when its last session releases it. */
export class ServerPool {
  readonly #servers = new Map<string, Shared>()

  /** Rejects if the server cannot be started, or when `signal` aborts. The caller must call `release` of the result. */
  async acquire(key: string, start: () => ServerStart, signal: AbortSignal): Promise<SharedServer> {
    const shared = this.#shared(key, start)
    shared.users++
    let released: Promise<void> | undefined
    const release = () => {
      released ??= this.#release(key, shared)
      return released
    }
    try {
      await unlessAborted(shared.ready, signal, 'Cancelled while OpenCode was starting.')
    } catch (error) {
      shared.server.checkAlive()
      await release()
      throw error
    }
    return { server: shared.server, release }
  }

  #shared(key: string, start: () => ServerStart): Shared {
    const known = this.#servers.get(key)
    if (known && !known.server.isUncertain) return known
    const given = start()
    const server = new OpenCodeServer()
    const shared = { server, ready: server.start(given), users: 0 }
    shared.ready.catch(() => undefined)
    this.#servers.set(key, shared)
    void server.gone.then(() => this.#forget(key, shared))
    return shared
  }

  async #release(key: string, shared: Shared): Promise<void> {
    shared.users--
    if (shared.users > 0) return
    this.#forget(key, shared)
    await shared.server.end()
  }

  #forget(key: string, shared: Shared): void {
    if (this.#servers.get(key) === shared) this.#servers.delete(key)
  }
}

/** Reads stdin until it is closed, which happens when the Parley process ends for any reason. Then ends the server. */
const watchdogScript = `
while read -r _; do :; done
kill -TERM "-$1" 2>/dev/null
sleep 1
kill -KILL "-$1" 2>/dev/null
for file in /proc/[0-9]*/environ; do
  if grep -qs "${markVariable}=$2" "$file"; then
    pid=\${file#/proc/}
    kill -KILL "\${pid%/environ}" 2>/dev/null
  fi
done
`

/** Starts a process that ends the server when this process ends. The returned function stops it. */
function startWatchdog(pid: number, mark: string): () => void {
  const watchdog = spawn('/bin/sh', ['-c', watchdogScript, 'sh', String(pid), mark], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin' },
  })
  watchdog.on('error', () => undefined)
  watchdog.stdin.on('error', () => undefined)
  watchdog.unref()
  return () => watchdog.kill('SIGKILL')
}
