import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

type Locked = {
  readonly resolved?: string
  readonly link?: boolean
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const file = join(import.meta.dirname, '../../package-lock.json')
const { packages } = JSON.parse(readFileSync(file, 'utf8')) as { packages: Record<string, Locked> }

/**
 * Whether the lock file has a package that `path` finds under this name: in its own node_modules folder, or in one
 * above it.
 */
function isLocked(path: string, name: string): boolean {
  if (packages[`${path === '' ? '' : `${path}/`}node_modules/${name}`]) return true
  if (path === '') return false
  return isLocked(path.slice(0, Math.max(0, path.lastIndexOf('node_modules/') - 1)), name)
}

// `npm ci` refuses a lock file without the packages of other systems, and npm adds only the packages of its own system
// to an existing lock file (docs/developing.md).
it('the lock file has the optional packages of every system, except WebAssembly', () => {
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter((name) => !/wasm/.test(name) && !isLocked(path, name)),
  )
  expect(missing).toEqual([])
})

it('the lock file names no registry', () => {
  const elsewhere = Object.values(packages).filter(({ resolved, link }) => resolved !== undefined && !link)
  expect(elsewhere).toEqual([])
})
