import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { defined } from '@parley/protocol'

/** An npm registry on loopback that serves the packages that a test publishes. The npm client is the real one. */

export type PackageUnderTest = {
  readonly name: string
  readonly version: string
  /** The source of its program in JavaScript; the default prints the version. `false`: the file is missing. */
  readonly program?: string | false
  /** The name of the program; the default is the name of the package. */
  readonly programName?: string
  readonly scripts?: Record<string, string>
  readonly dependencies?: Record<string, string>
  readonly optionalDependencies?: Record<string, string>
  readonly peerDependencies?: Record<string, string>
  /** The version in its own package.json, if it differs from the registry's. */
  readonly claims?: string
  readonly files?: Record<string, string>
}

export type RegistryUnderTest = AsyncDisposable & {
  readonly url: string
  /** The paths that npm requested. */
  readonly asked: string[]
  /** The environment for npm: this registry, with a home and a cache of its own. */
  readonly env: Record<string, string>
  publish(...packages: PackageUnderTest[]): void
  /** Publishes a package that `npm pack` has made. */
  publishFile(file: string): void
  /** The SHA-512 of a published package, as npm records it. */
  integrityOf(name: string, version: string): string
  /** From now on, withholds the response to every request with `path` in its path. */
  hold(path: string): Held
}

type Published = {
  readonly manifest: { readonly name: string; readonly version: string }
  readonly file: string
}

export type Held = {
  /** Resolves when npm waits for a withheld response. */
  readonly waits: Promise<void>
  /** Sends the withheld responses. */
  release(): void
}

export async function startRegistry(): Promise<RegistryUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-registry-'))
  const published = new Map<string, Published[]>()
  const asked: string[] = []
  const held: HeldPath[] = []

  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '/').slice(1)
    asked.push(path)
    const one = held.find((other) => path.includes(other.path))
    if (one) one.hold(() => answer(path, response))
    else answer(path, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  function answer(path: string, response: ServerResponse) {
    const tarball = /^(.+)\/-\/(.+)\.tgz$/.exec(path)
    const name = tarball?.[1] ?? path
    const versions = published.get(name)
    if (!versions) return void response.writeHead(404).end('{}')
    const packed = versions.find(({ manifest }) => manifest.version === tarball?.[2])
    if (packed) return void response.end(readFileSync(packed.file))
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(packument(name, versions)))
  }

  function packument(name: string, versions: readonly Published[]) {
    const described = versions.map(({ manifest, file }) => {
      const dist = { tarball: `${url}/${name}/-/${manifest.version}.tgz`, integrity: sha512(file) }
      return [manifest.version, { ...manifest, dist }]
    })
    const latest = versions.at(-1)?.manifest.version
    return { name, 'dist-tags': { latest }, versions: Object.fromEntries(described) }
  }

  function add(one: Published): void {
    const { name } = one.manifest
    published.set(name, [...(published.get(name) ?? []), one])
  }

  return {
    url,
    asked,
    env: {
      PATH: process.env.PATH ?? '/usr/bin:/bin',
      HOME: folder,
      npm_config_registry: url,
      npm_config_cache: join(folder, 'cache'),
    },
    publish(...packages) {
      for (const one of packages) add(pack(folder, one))
    },
    publishFile(file) {
      const manifest = execFileSync('tar', ['-xzOf', file, 'package/package.json'], { encoding: 'utf8' })
      add({ manifest: JSON.parse(manifest), file })
    },
    integrityOf: (name, version) => sha512(tarballFile(folder, name, version)),
    hold: (path) => hold(held, path),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

type HeldPath = { readonly path: string; hold(answer: () => void): void }

function hold(held: HeldPath[], path: string): Held {
  const { promise, resolve } = Promise.withResolvers<void>()
  const answers: (() => void)[] = []
  const one: HeldPath = {
    path,
    hold(answer) {
      answers.push(answer)
      resolve()
    },
  }
  held.push(one)
  return {
    waits: promise,
    release() {
      held.splice(held.indexOf(one), 1)
      for (const answer of answers) answer()
    },
  }
}

function manifestOf({ name, version, programName, ...rest }: PackageUnderTest) {
  const { scripts, dependencies, optionalDependencies, peerDependencies } = rest
  const bin = { [programName ?? name.replace(/^@[^/]+\//, '')]: 'program.js' }
  return { name, version, bin, ...defined({ scripts, dependencies, optionalDependencies, peerDependencies }) }
}

/** Writes the files that npm would install into the folder of a project, without running npm. */
export function writeInstalled(project: string, one: PackageUnderTest): void {
  const folder = join(project, 'node_modules', one.name)
  const program = join(project, 'node_modules', '.bin', one.name)
  mkdirSync(folder, { recursive: true })
  mkdirSync(dirname(program))
  const manifest = { private: true, dependencies: { [one.name]: one.version } }
  writeFileSync(join(project, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifestOf(one)))
  const source = `#!/usr/bin/env node\nconsole.log('${one.version}')\n`
  writeFileSync(join(folder, 'program.js'), source, { mode: 0o755 })
  symlinkSync(`../${one.name}/program.js`, program)
}

function sha512(file: string): string {
  return `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`
}

function tarballFile(folder: string, name: string, version: string): string {
  return join(folder, `${name.replaceAll('/', '+')}-${version}.tgz`)
}

function pack(folder: string, one: PackageUnderTest): Published {
  const content = mkdtempSync(join(folder, 'pack-'))
  const packed = { ...one, version: one.claims ?? one.version }
  const program = one.program ?? `console.log('${one.version}')`
  const files: Record<string, string> = { 'package.json': JSON.stringify(manifestOf(packed)), ...one.files }
  if (program !== false) files['program.js'] = `#!/usr/bin/env node\n${program}\n`
  for (const [path, text] of Object.entries(files)) {
    const file = join(content, 'package', path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
    chmodSync(file, 0o755)
  }
  const file = tarballFile(folder, one.name, one.version)
  execFileSync('tar', ['-czf', file, '-C', content, 'package'])
  const hasInstallScript = one.scripts !== undefined
  return { manifest: { ...manifestOf(one), ...(hasInstallScript && { hasInstallScript }) }, file }
}
