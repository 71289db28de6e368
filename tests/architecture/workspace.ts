import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

export const root = resolve(import.meta.dirname, '../..')
export const protocol = 'packages/protocol/src'
export const client = 'packages/client/src'
export const adapterKit = 'packages/adapter-kit/src'
export const server = 'packages/server/src'
export const web = 'apps/web/src'
export const examples = 'examples'

export const textOf = (file: string) => readFileSync(join(root, file), 'utf8')

type Package = {
  readonly name: string
  readonly folder: string
  /** The source file of each import specifier that `exports` allows. */
  readonly entryPoints: ReadonlyMap<string, string>
  /** Packages that are installed with this package as dependencies, or beside it as peers. */
  readonly dependencies: ReadonlySet<string>
}

type Manifest = {
  name: string
  exports?: Record<string, string | { source: string }>
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
  devDependencies?: Record<string, string>
}

function readPackage(folder: string): Package {
  const manifest = JSON.parse(textOf(join(folder, 'package.json'))) as Manifest
  const {
    name,
    exports = {},
    dependencies,
    optionalDependencies,
    peerDependencies,
    devDependencies,
  } = manifest
  const entryPoints = Object.entries(exports).flatMap(([path, target]) =>
    typeof target === 'string' ? [] : [[join(name, path), join(folder, target.source)] as const],
  )
  // The root package is not published: its examples and scripts may use the development dependencies.
  const installed = {
    ...dependencies,
    ...optionalDependencies,
    ...peerDependencies,
    ...(folder === '.' && devDependencies),
  }
  return { name, folder, entryPoints: new Map(entryPoints), dependencies: new Set(Object.keys(installed)) }
}

const packages = [
  'packages/protocol',
  'packages/client',
  'packages/adapter-kit',
  'packages/server',
  'apps/web',
  '.',
].map(readPackage)

export function packageOf(file: string): Package {
  return packages.find(({ folder }) => file.startsWith(`${folder}/`)) ?? packages.at(-1)!
}

/** The import specifiers that the packages of this repository export, with the source file of each. */
export const entryPoints: ReadonlyMap<string, string> = new Map(
  packages.flatMap((one) => [...one.entryPoints]),
)

/** Every source file that is not a test, relative to the root of the repository. */
export function sourceFiles(): string[] {
  return [protocol, client, adapterKit, server, web, examples]
    .flatMap(filesIn)
    .filter((file) => !isTest(file))
}

export function filesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((file) => /\.tsx?$/.test(file) && !file.includes('node_modules/'))
    .toSorted()
}

export const isTest = (file: string) => /\.test\.tsx?$|under-test\.tsx?$/.test(file)

const importPattern =
  /(?:^|\n)\s*(?:import|export)\s[^'"`;]*?from\s*['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)|(?:^|\n)import\s*['"]([^'"]+)['"]/g

/** The specifiers of all imports of a file, including imports of types. */
export function importsOf(file: string): string[] {
  const found = [...textOf(file).matchAll(importPattern)]
  return found.map((match) => (match[1] ?? match[2] ?? match[3] ?? '').replace(/\?.*/, ''))
}

/** The file of this repository that an import names; undefined for another package. */
export function targetOf(file: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return relative(root, resolve(root, dirname(file), specifier))
  return entryPoints.get(specifier)
}

/** The package of an import specifier: for `@scope/name/path`, the package `@scope/name`. */
export function packageName(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}
