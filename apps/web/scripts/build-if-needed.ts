import { readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'

/**
 * Builds the page if it was never built or is older than its sources. Runs before the server in development; a published
 * server contains the built page. If the build fails, the server still starts, with a plain page.
 */
const root = resolve(import.meta.dirname, '../../..')
const page = join(root, 'packages/server/dist/console/index.html')
const madeFrom = [
  'apps/web/index.html',
  'apps/web/package.json',
  'apps/web/public',
  'apps/web/scripts/build.ts',
  'apps/web/src',
  'apps/web/vite.config.ts',
  'packages/client/src',
  'packages/protocol/src',
  'package-lock.json',
]

if (newest(madeFrom.map((path) => join(root, path))) > changedAt(page)) await build()

async function build(): Promise<void> {
  process.stderr.write('Building the console, which takes a few seconds …\n')
  try {
    await import('./build.ts')
  } catch (error) {
    process.stderr.write(`The console could not be built; Parley starts without it. ${String(error)}\n`)
  }
}

function newest(paths: readonly string[]): number {
  return Math.max(...paths.map((path) => Math.max(changedAt(path), ...inside(path).map(changedAt))))
}

function inside(path: string): string[] {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return []
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => !name.endsWith('.test.ts'))
    .map((name) => join(path, name))
}

function changedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}
