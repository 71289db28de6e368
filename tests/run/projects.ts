import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/**
 * Which project runs a test file. `npm test` runs `architecture`, `unit` and `main`; `npm run test:rest` runs
 * `programs`, `agents` and `e2e`. A file belongs to one project only.
 */
const root = resolve(import.meta.dirname, '../..')

/** The main paths: the server and its restarts, the console in a browser, and the real Claude Code. */
export const mainFiles = [
  'packages/server/src/adapters/claude/claude.test.ts',
  'tests/e2e/console.test.ts',
  'tests/e2e/kill.test.ts',
  'tests/e2e/restart.test.ts',
]

/** Tests of adapters that start real agents: those with a fixture for them. */
export const agentFiles = filesWith(
  'packages/server/src/adapters',
  /\/(agent-home|agents-folder|opencode-environment)\.ts$/,
)

/** Tests that start the program `parley` or npm: a start takes longer than most unit tests. */
export const programFiles = filesWith(
  'packages/server/src',
  /\/(program|npm-registry)-under-test\.ts$|\/bin\/parley\.js$/,
)

/** The test files in a folder that import such a file, themselves or through a file of fixtures. */
function filesWith(folder: string, fixture: RegExp): string[] {
  const tests = globSync(`${folder}/**/*.test.ts`, { cwd: root })
  return tests.filter((file) => imports(file, fixture)).sort()
}

function imports(file: string, fixture: RegExp): boolean {
  const text = readFileSync(join(root, file), 'utf8')
  const names = [...text.matchAll(/(?: from |new URL\()'(\.[^']*)'/g)].map(([, name = '']) =>
    join(file, '..', name),
  )
  return names.some(
    (name) => fixture.test(name) || (name.endsWith('-under-test.ts') && imports(name, fixture)),
  )
}
