import { existsSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { shellWord } from '@parley/adapter-kit/advice'
import { isRecord, messageOf, ParleyError } from '@parley/protocol'
import { adaptersFolder } from './configuration.ts'

/**
 * The file of a module that config.json names. A relative path belongs to the data folder, and a package is looked for
 * in the adapters folder only. The current folder, its parents and `NODE_PATH` are not searched: a repository or another
 * user could have put a module there.
 */
export function findModule(name: string, dataDir: string): string {
  const isPath = /^\.{0,2}\//.test(name)
  const path = isPath ? resolve(dataDir, name) : join(adaptersFolder(dataDir), 'node_modules', name)
  const found = statSync(path, { throwIfNoEntry: false })
  if (found?.isFile()) return path
  if (found?.isDirectory()) return entryOf(path)
  if (isPath) throw new ParleyError('not_found', `there is no file or folder ${path}. Correct the path.`)
  const folder = adaptersFolder(dataDir)
  const message = `there is no package "${name}" in ${folder}. Install it: npm install --prefix ${shellWord(folder)} ${name}`
  throw new ParleyError('not_found', message)
}

/** The entry point of the package in a folder, as Node finds it for `import`. */
function entryOf(folder: string): string {
  const { exports, main } = manifestOf(join(folder, 'package.json'))
  const target = exports === undefined ? (main ?? 'index.js') : exported(exports)
  const path = typeof target === 'string' ? join(folder, target) : undefined
  const file = [path, `${path}.js`, `${path}/index.js`].find(
    (one) => one !== undefined && statSync(one, { throwIfNoEntry: false })?.isFile(),
  )
  if (path !== undefined && file !== undefined) return file
  const missing =
    path === undefined ? 'names no entry point in "exports"' : `names ${path}, which does not exist`
  throw new ParleyError('not_found', `the package.json of ${folder} ${missing}. Is the package built?`)
}

function manifestOf(file: string): Readonly<Record<string, unknown>> {
  if (!existsSync(file)) throw new ParleyError('not_found', `there is no ${file}. Name a file, or a package.`)
  try {
    const manifest: unknown = JSON.parse(readFileSync(file, 'utf8'))
    return isRecord(manifest) ? manifest : {}
  } catch (thrown) {
    throw new ParleyError('validation_error', `${file} is not JSON (${messageOf(thrown)}).`)
  }
}

const conditions = new Set(['node', 'import', 'module-sync', 'default'])

/** The target of `.` in the `exports` of a package. */
function exported(exports: unknown): string | undefined {
  if (typeof exports === 'string') return exports
  if (Array.isArray(exports)) return firstOf(exports)
  if (!isRecord(exports)) return undefined
  if (Object.keys(exports).some((key) => key.startsWith('.'))) return exported(exports['.'])
  return firstOf(Object.keys(exports).flatMap((key) => (conditions.has(key) ? [exports[key]] : [])))
}

function firstOf(targets: readonly unknown[]): string | undefined {
  for (const target of targets) {
    const found = exported(target)
    if (found !== undefined) return found
  }
  return undefined
}
