import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { startRegistry } from '../../packages/server/src/adapters/npm-registry-under-test.ts'
import { TemporaryFolder } from '../../packages/server/src/testing/temporary-folder.ts'
import { printedLink } from './console-browser.ts'
import { type PackedPackages, packageNames } from './packed-packages.ts'

/** A package with a program that prints one line. Its start with npx is measured for comparison. */
export const emptyPackage = '@parley/nothing'

/**
 * A person with npm who has not used Parley before: an empty home, and a registry that has Parley's packages.
 * Other packages come from the npm cache of this machine or, if they are not there, from the registry of the
 * person.
 */
export class NpxHome implements AsyncDisposable {
  readonly #folder = new TemporaryFolder()
  readonly #registry: Awaited<ReturnType<typeof startRegistry>>
  readonly path = this.#folder.path
  readonly env: Record<string, string>

  private constructor(registry: Awaited<ReturnType<typeof startRegistry>>) {
    this.#registry = registry
    const cache = this.#folder.folder('npm')
    symlinkSync(sharedCache(), join(cache, '_cacache'))
    const { LANG = 'C.UTF-8', PATH = '/usr/bin:/bin' } = process.env
    this.env = {
      ...npmSettings(),
      HOME: this.path,
      LANG,
      PATH: [
        dirname(process.execPath),
        ...PATH.split(delimiter).filter((one) => !one.includes('node_modules')),
      ].join(delimiter),
      npm_config_cache: cache,
      npm_config_userconfig: join(this.path, '.npmrc'),
      npm_config_prefer_offline: 'true',
    }
    writeFileSync(join(this.path, '.npmrc'), `${ownNpmrc()}\n@parley:registry=${registry.url}\n`)
  }

  /** Runs Parley once, so that the npm cache has all packages, and removes the installation again. */
  static async open(packages: PackedPackages): Promise<NpxHome> {
    const registry = await startRegistry()
    registry.publish({ name: emptyPackage, version: '1.0.0' })
    for (const name of packageNames) registry.publishFile(packages.fileOf(name))
    const home = new NpxHome(registry)
    await home.run(['--version'])
    await home.run([], {}, emptyPackage)
    home.forget()
    return home
  }

  /** The `node_modules` into which npx has installed Parley. */
  get installed(): string {
    const [name = ''] = readdirSync(this.#npxFolder)
    return join(this.#npxFolder, name, 'node_modules')
  }

  get #npxFolder(): string {
    return join(this.env.npm_config_cache ?? '', '_npx')
  }

  /** Removes the installation. The npm cache keeps the packages. */
  forget(): void {
    rmSync(this.#npxFolder, { recursive: true, force: true })
  }

  #start(args: readonly string[], env = {}, name = '@parley/server'): ChildProcess {
    return spawn('npx', ['--yes', name, ...args], {
      cwd: this.path,
      env: { ...this.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
  }

  /** Runs `npx @parley/server`, or another package, to its end. `env` is added to the environment. */
  async run(args: readonly string[], env: Env = {}, name?: string): Promise<ProgramRun> {
    const child = this.#start(args, env, name)
    let [stdout, stderr] = ['', '']
    child.stdout?.setEncoding('utf8').on('data', (text) => {
      stdout += text
    })
    child.stderr?.setEncoding('utf8').on('data', (text) => {
      stderr += text
    })
    const [exitCode] = await once(child, 'close')
    return { exitCode, stdout, stderr }
  }

  /** Starts the server, and resolves with its link. */
  async serve(): Promise<AsyncDisposable & { readonly link: string }> {
    const child = this.#start(['--port', '0'], { npm_config_offline: 'true' })
    const closed = once(child, 'close')
    const ended = closed.then(([code]) => {
      throw new Error(`npx ended with ${code}`)
    })
    const link = await Promise.race([printedLink(child), ended])
    ended.catch(() => undefined)
    return {
      link,
      async [Symbol.asyncDispose]() {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
        await closed
      },
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#registry[Symbol.asyncDispose]()
    this.#folder[Symbol.dispose]()
  }
}

type Env = Readonly<Record<string, string>>
type ProgramRun = { readonly exitCode: number | null; readonly stdout: string; readonly stderr: string }

/** The bytes on disk of each package that npm has installed into a `node_modules` folder, by its path there. */
export function packageSizes(modules: string): Map<string, number> {
  const { packages } = JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8')) as {
    packages: Record<string, unknown>
  }
  const names = Object.keys(packages).map((path) => path.replace(/^node_modules\//, ''))
  const sizes = new Map(names.map((name) => [name, 0]))
  for (const file of readdirSync(modules, { recursive: true, encoding: 'utf8' })) {
    const name = names.findLast((one) => file.startsWith(`${one}/`))
    const stat = statSync(join(modules, file))
    if (name !== undefined && stat.isFile()) sizes.set(name, (sizes.get(name) ?? 0) + blocks(stat.size))
  }
  return sizes
}

function blocks(size: number): number {
  return Math.ceil(size / 4096) * 4096
}

function sharedCache(): string {
  const cache = execFileSync('npm', ['config', 'get', 'cache'], { encoding: 'utf8', cwd: homedir() }).trim()
  const folder = join(cache, '_cacache')
  mkdirSync(folder, { recursive: true })
  return folder
}

/** The person's own settings of npm, such as a registry or a proxy. */
function ownNpmrc(): string {
  const file = process.env.npm_config_userconfig ?? join(homedir(), '.npmrc')
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}

function npmSettings(): Record<string, string> {
  const wanted =
    /^(npm_config_(registry|proxy|https_proxy|noproxy|cafile|strict_ssl)|https?_proxy|no_proxy|NODE_EXTRA_CA_CERTS)$/i
  const found = Object.entries(process.env).filter(([name]) => wanted.test(name))
  return Object.fromEntries(found) as Record<string, string>
}
