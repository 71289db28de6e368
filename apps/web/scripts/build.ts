import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { build } from 'vite'

/**
 * Builds the page in a separate folder and then moves it into place file by file, so that a running server always serves
 * a complete page.
 */
const page = resolve(import.meta.dirname, '../../../packages/server/dist/console')
/** The build folder: on the same disk, so that files can be renamed, and outside the published package. */
const beside = resolve(import.meta.dirname, '../dist')

// A test may start this script with another NODE_ENV; the page must be the same.
process.env.NODE_ENV = 'production'
mkdirSync(page, { recursive: true })
mkdirSync(beside, { recursive: true })
const made = mkdtempSync(join(beside, 'page-'))
try {
  const outDir = made
  await build({
    configFile: resolve(import.meta.dirname, '../vite.config.ts'),
    logLevel: 'error',
    build: { outDir },
  })
  const files = filesIn(made)
  // The document comes after the files that it refers to; the service worker, which fetches both, comes last.
  for (const name of files.toSorted((one, other) => rank(one) - rank(other))) {
    mkdirSync(dirname(join(page, name)), { recursive: true })
    renameSync(join(made, name), join(page, name))
  }
  for (const name of filesIn(page)) if (!files.includes(name)) rmSync(join(page, name))
} finally {
  rmSync(made, { recursive: true, force: true })
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    statSync(join(folder, name)).isFile(),
  )
}

function rank(name: string): number {
  return name === 'sw.js' ? 3 : name === 'index.html' ? 2 : name.startsWith('assets') ? 0 : 1
}
