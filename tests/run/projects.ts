import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/**
 * This file defines which project runs a test file. `npm test` runs `architecture`, `unit`, `git` and `main`; `npm run
 * test:rest` runs `agents` and `e2e`. A file belongs to one project only.
 */
const root = resolve(import.meta.dirname, '../..')

/** The main paths: the server and its restarts, the console in a browser, and the real Claude Code. */
export const mainFiles = [
  'packages/server/src/adapters/claude/claude.test.ts',
  'tests/e2e/console.test.ts',
  'tests/e2e/kill.test.ts',
  'tests/e2e/restart.test.ts',
]

/**
 * Tests of adapters that start real agents. They import a fixture for real agents, directly or through
 * another file.
 */
export const agentFiles = globSync('packages/server/src/adapters/**/*.test.ts', { cwd: root })
  .filter(usesAgents)
  .sort()

/** The tests that start programs, mostly git, hundreds of times. */
export const gitFiles = [
  ...globSync('packages/server/src/workspace/*.test.ts', { cwd: root }).sort(),
  'packages/server/src/cli/restore-kill.test.ts',
  'packages/server/src/core/rewind-files.test.ts',
  'packages/server/src/core/rounds.test.ts',
  'packages/server/src/core/worktrees.test.ts',
  'packages/server/src/faces/access-matrix.test.ts',
  'packages/server/src/faces/http/change-scopes.test.ts',
  'packages/server/src/faces/http/hostile-folder.test.ts',
]

/** Tests of commands with servers on PostgreSQL. Each starts several servers, so `npm run test:rest` runs them. */
export const nodeFiles = globSync('packages/server/src/cli/*.test.ts', { cwd: root })
  .filter((file) => importedBy(file).some((name) => name.endsWith('/postgres-under-test.ts')))
  .sort()

function importedBy(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8')
  return [...text.matchAll(/ from '(\.[^']*)'/g)].map(([, name = '']) => join(file, '..', name))
}

function usesAgents(file: string): boolean {
  return importedBy(file).some(
    (name) =>
      /\/(agent-home|agents-folder|opencode-environment)\.ts$/.test(name) ||
      (name.endsWith('-under-test.ts') && usesAgents(name)),
  )
}
