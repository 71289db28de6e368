import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TemporaryFolder } from '../../packages/server/src/testing/temporary-folder.ts'
import {
  createPackage,
  fileIn,
  filesIn,
  manifestIn,
  type PackedPackages,
  packageNames,
  packPackages,
} from './packed-packages.ts'

/** Tests the contents of the packages that npm would publish. */
const root = resolve(import.meta.dirname, '../..')
let packages: PackedPackages
const folder = new TemporaryFolder()
beforeAll(() => {
  packages = packPackages()
  for (const name of packageNames) {
    const place = join(folder.path, name)
    mkdirSync(place)
    execFileSync('tar', ['-xzf', packages.fileOf(name), '-C', place])
  }
}, 600_000)
afterAll(() => {
  packages?.remove()
  folder[Symbol.dispose]()
})

describe.each(packageNames)('the package %s', (name) => {
  const file = () => packages.fileOf(name)
  const text = (path: string) => readFileSync(join(folder.path, name, 'package', path), 'utf8')

  it('contains its README and its LICENSE', () => {
    expect(fileIn(file(), 'README.md')).toMatch(new RegExp(`^# @parley/${name}\n`))
    expect(fileIn(file(), 'LICENSE')).toBe(readFileSync(join(root, 'LICENSE'), 'utf8'))
  })

  it('contains no source, test, fixture, map or build record, and no path of this machine', () => {
    const files = filesIn(file())
    const unwanted =
      /(^|\/)src\/|\.test\.|under-test|fixtures|\.map$|tsbuildinfo|\.tsx?$(?<!\.d\.ts)|(^|\/)\.[^/]/
    expect(files.length).toBeGreaterThan(20)
    expect(files.filter((path) => unwanted.test(path))).toEqual([])
    const readable = files.filter((path) => /\.(js|ts|json|html|css|md|svg)$/.test(path))
    const wrong = readable.filter((path) => {
      const content = text(path)
      return content.includes(root) || /^\/[/*]# sourceMappingURL=/m.test(content)
    })
    expect(wrong).toEqual([])
  })

  it('has the files that its entry points and programs name, and runs nothing when it is installed', () => {
    const { exports, bin = {}, engines, scripts } = manifestIn(file())
    const targets = Object.values(exports).flatMap((target) =>
      typeof target === 'string' ? [target] : [target.types, target.default],
    )
    const missing = [...targets, ...Object.values(bin)].filter(
      (path) => !filesIn(file()).includes(path.slice(2)),
    )
    expect(missing).toEqual([])
    expect(engines.node).toMatch(/^>=\d+$/)
    expect(scripts).toBeUndefined()
  })

  it('declares every package that its declarations and its code name', () => {
    const { dependencies, optionalDependencies, peerDependencies, exports } = manifestIn(file())
    const declared = new Set([
      `@parley/${name}`,
      ...Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }),
    ])
    const entries = Object.values(exports).flatMap((target) =>
      typeof target === 'string' ? [] : [target.types, target.default],
    )
    const seen = new Set<string>()
    const undeclared = new Set<string>()
    const visit = (path: string) => {
      if (seen.has(path)) return
      seen.add(path)
      for (const specifier of specifiersIn(text(path))) {
        if (specifier.startsWith('.')) visit(fileOf(join(dirname(path), specifier), path))
        else if (!isBuiltin(specifier) && !declared.has(packageOf(specifier)))
          undeclared.add(`${path} names ${specifier}`)
      }
    }
    for (const entry of entries) visit(join(entry))
    expect(seen.size).toBeGreaterThan(20)
    expect([...undeclared]).toEqual([])
  })
})

it('the package of npm create parley-adapter contains its program and its template, and depends on nothing', () => {
  const file = packages.fileOf(createPackage)
  const template = ['README.md', 'adapter.js', 'adapter.test.js', 'agent.js', 'connection.js', 'gitignore']
  expect(filesIn(file).toSorted()).toEqual([
    'LICENSE',
    'README.md',
    'bin/create-parley-adapter.js',
    'package.json',
    ...[...template, 'package.json'].map((name) => `template/${name}`),
  ])
  const { dependencies, scripts } = manifestIn(file)
  expect([dependencies, scripts]).toEqual([undefined, undefined])
  const { version } = JSON.parse(fileIn(packages.fileOf('server'), 'package.json'))
  const made = JSON.parse(fileIn(file, 'template/package.json'))
  const named: Record<string, string> = { ...made.dependencies, ...made.devDependencies }
  expect(new Set(Object.values(named))).toEqual(new Set([`^${version}`]))
})

it('the server contains the console', () => {
  expect(filesIn(packages.fileOf('server'))).toEqual(
    expect.arrayContaining(['dist/console/index.html', 'dist/console/sw.js']),
  )
})

function specifiersIn(source: string): string[] {
  const pattern =
    /(?:^|\n|;)\s*(?:import|export)\s[^'"`;]*?from\s*['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)/g
  return [...source.matchAll(pattern)].map((match) => match[1] ?? match[2] ?? '')
}

/** The file that a relative specifier names. In a declaration file, that is another declaration file. */
function fileOf(path: string, from: string): string {
  return from.endsWith('.d.ts') ? path.replace(/(\.d)?\.[jt]s$/, '.d.ts') : path
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}
