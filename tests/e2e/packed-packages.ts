import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../..')

export const packageNames = ['protocol', 'client', 'adapter-kit', 'server'] as const
export type PackageName = (typeof packageNames)[number]
/** The package behind `npm create parley-adapter`, which programs do not import. */
export const createPackage = 'create-parley-adapter'

/** The packages as npm publishes them, and projects that install them. */
export type PackedPackages = {
  /** The file that npm would publish. */
  fileOf(name: PackageName | typeof createPackage): string
  install(): PackedProject
  remove(): void
}

export type Program = { readonly file: string; readonly program: string }

export type PackedProject = {
  readonly folder: string
  /** Runs a program with a separate home folder, and returns its stdout. */
  run(program: string, args: readonly string[], env?: Record<string, string>): string
  readonly env: Record<string, string | undefined>
  /** Type-checks programs as a strict project does, and reports the number of type instantiations. */
  check(...programs: readonly Program[]): { readonly problems: string; readonly instantiations: number }
  /** Like `check`, including the declarations of all libraries. Returns the problems. */
  checkWhole(...programs: readonly Program[]): string
  /** Links packages of this checkout into the project, under the names that programs import. */
  link(packages: Readonly<Record<string, string>>): void
  /**
   * A copy of the project, changed by `npm install` with these arguments, such as `--omit=optional` or the names of
   * packages. Takes a tenth of the processor time of a new project, because npm unpacks only the packages that differ.
   */
  changed(...args: string[]): PackedProject
  /** Installs the packages in a folder inside this project that has a package.json, in the same way. */
  inside(folder: string): PackedProject
}

/** Builds and packs the packages. This is slow and should be done once per file. */
export function packPackages(): PackedPackages {
  const place = mkdtempSync(join(tmpdir(), 'parley-package-'))
  let made = 0
  build()
  const names = [...packageNames, createPackage].flatMap((name) => ['-w', `packages/${name}`])
  run('npm', ['pack', '--pack-destination', place, ...names], { cwd: root })
  const files = readdirSync(place).map((name) => join(place, name))
  const packed = files.filter((file) => !file.includes(createPackage))
  const npmInstall = (folder: string, ...args: string[]): PackedProject => {
    const env = {
      ...process.env,
      HOME: folder,
      PARLEY_DATA_DIR: join(folder, 'data'),
      PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
      npm_config_cache: process.env.npm_config_cache ?? join(process.env.HOME ?? folder, '.npm'),
    }
    const start = (program: string, args: readonly string[], extra: Record<string, string> = {}) =>
      run(program, args, { cwd: folder, env: { ...env, ...extra } })
    start('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', ...args])
    return {
      folder,
      env,
      run: start,
      check: (...programs: readonly Program[]) => check(folder, programs),
      checkWhole: (...programs: readonly Program[]) =>
        check(folder, programs, { skipLibCheck: false }).problems,
      link: (wanted: Readonly<Record<string, string>>) => link(folder, wanted),
      changed: (...more: string[]): PackedProject => {
        const copy = nextFolder()
        // Hard links are safe, because npm replaces files and does not write into them.
        run('cp', ['-al', folder, copy], { cwd: place })
        return npmInstall(copy, ...more)
      },
      inside: (name: string) => {
        const inner = join(folder, name)
        run('cp', ['-al', join(folder, 'node_modules'), inner], { cwd: place })
        return npmInstall(inner, ...packed)
      },
    }
  }
  const nextFolder = () => join(place, `project-${++made}`)
  return {
    fileOf: (name) =>
      name === createPackage
        ? files.find((file) => !packed.includes(file))!
        : packed.find((file) => file.includes(`parley-${name}-`))!,
    install: () => {
      const folder = nextFolder()
      mkdirSync(folder)
      writeFileSync(join(folder, 'package.json'), '{ "name": "stranger", "private": true, "type": "module" }')
      return npmInstall(folder, ...packed)
    },
    remove: () => rmSync(place, { recursive: true, force: true }),
  }
}

export type Manifest = {
  readonly name: string
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>
  readonly bin?: Readonly<Record<string, string>>
  readonly engines: { readonly node: string }
  readonly scripts?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

/** The package.json of a packed package. */
export function manifestIn(file: string): Manifest {
  return JSON.parse(fileIn(file, 'package.json')) as Manifest
}

export function filesIn(file: string): string[] {
  const listed = execFileSync('tar', ['tzf', file], { encoding: 'utf8' })
  return listed
    .trim()
    .split('\n')
    .map((path) => path.replace(/^package\//, ''))
}

export function fileIn(file: string, path: string): string {
  return execFileSync('tar', ['xzOf', file, `package/${path}`], { encoding: 'utf8' })
}

/** Builds like `npm run build`, but keeps a console that is already built, because other tests use it. */
function build(): void {
  run(join(root, 'node_modules/.bin/tsc'), ['-b', '--singleThreaded'], { cwd: root })
  for (const script of [
    'packages/protocol/scripts/write-documents.ts',
    'apps/web/scripts/build-if-needed.ts',
  ])
    run(process.execPath, [script], { cwd: root })
}

const strict = {
  noEmit: true,
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: true,
  module: 'nodenext',
  target: 'es2024',
  lib: ['es2024', 'esnext.disposable', 'dom', 'dom.asynciterable'],
  types: ['node'],
  jsx: 'react-jsx',
  allowImportingTsExtensions: true,
}

function check(
  folder: string,
  programs: readonly Program[],
  changes = {},
): { problems: string; instantiations: number } {
  const place = join(folder, 'checked')
  rmSync(place, { recursive: true, force: true })
  mkdirSync(place)
  for (const { file, program } of programs) writeFileSync(join(place, file), program)
  const files = programs.map(({ file }) => file)
  writeFileSync(
    join(place, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: { ...strict, ...changes }, files }),
  )
  const compiler = join(root, 'node_modules/.bin/tsc')
  const { stdout } = spawnSync(compiler, ['--extendedDiagnostics', '--singleThreaded'], {
    cwd: place,
    encoding: 'utf8',
  })
  const instantiations = Number(/^Instantiations: +(\d+)$/m.exec(stdout)?.[1])
  return { problems: stdout.split(/^Files: /m)[0]!.trim(), instantiations }
}

function link(folder: string, packages: Readonly<Record<string, string>>): void {
  for (const [name, from] of Object.entries(packages)) {
    const path = join(folder, 'node_modules', name)
    mkdirSync(dirname(path), { recursive: true })
    if (!existsSync(path)) symlinkSync(join(root, 'node_modules', from), path)
  }
}

function run(
  program: string,
  args: readonly string[],
  options: { cwd: string; env?: Record<string, string | undefined> },
): string {
  return execFileSync(program, args, { ...options, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}
