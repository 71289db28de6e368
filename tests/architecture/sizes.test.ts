import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { filesIn, root, textOf } from './workspace.ts'

const folders = ['apps/web', 'bench', 'examples', 'packages', 'scripts', 'tests']
const maxFileLines = 400

/** Files that are still longer than the limit. The list may only shrink. */
const longFiles: readonly string[] = [
  'packages/server/src/adapters/claude/translate-messages.test.ts',
  'packages/server/src/core/decide.test.ts',
  'packages/server/src/core/live-session.test.ts',
  'packages/server/src/core/faulty-agents.test.ts',
  'packages/server/src/core/session-feed.test.ts',
  'packages/server/src/core/session-log.test.ts',
  'packages/server/src/core/session.property.test.ts',
  'packages/server/src/faces/ipc/ipc.test.ts',
  'packages/server/src/faces/websocket/websocket.test.ts',
  'packages/server/src/stores/sqlite.test.ts',
  'tests/e2e/console-composer.test.ts',
  'tests/e2e/console.test.ts',
  'tests/e2e/restart.test.ts',
]

it(`no file has more than ${maxFileLines} lines`, () => {
  const files = folders.flatMap(filesIn).filter((file) => !/\/(dist|fixtures)\//.test(file))
  expect(files.length).toBeGreaterThan(1000)
  const long = files.filter((file) => lineCount(textOf(file)) > maxFileLines)
  expect(
    long.filter((file) => !longFiles.includes(file)),
    'split these files by subject',
  ).toEqual([])
  const stale = longFiles.filter((file) => !long.includes(file))
  expect(stale, 'these files are short now: remove them from the exceptions').toEqual([])
})

const lineCount = (text: string) => text.trimEnd().split('\n').length

type FunctionRule = { level: string; options: { maxLines: number; skipBlankLines: boolean } }
type Biome = {
  linter: { rules: { complexity: { noExcessiveLinesPerFunction: FunctionRule } } }
  overrides: { includes: string[] }[]
}

const { linter, overrides } = JSON.parse(textOf('biome.json')) as Biome
const functionRule = linter.rules.complexity.noExcessiveLinesPerFunction

/**
 * The linter checks the length of functions. biome.json lists the files that still have a longer function; this list
 * may only shrink.
 */
it('every file that biome.json exempts from the limit on function length has a long function', () => {
  expect(functionRule).toMatchObject({ level: 'error', options: { maxLines: 60 } })
  const exceptions = overrides.flatMap(({ includes }) => includes).filter((name) => !name.includes('*'))
  const long = withLongFunctions(exceptions)
  const stale = exceptions.filter((file) => !long.includes(file))
  expect(stale, 'these files have no long function any more: remove them from biome.json').toEqual([])
})

it('a function of 61 lines is too long', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-long-function-'))
  const file = (lines: number) => {
    const path = join(folder, `${lines}.ts`)
    writeFileSync(path, `export function long() {\n${'  call()\n'.repeat(lines)}}\n`)
    return path
  }
  const files = [file(60), file(61)]
  expect(withLongFunctions(files)).toEqual([files[1]])
  rmSync(folder, { recursive: true })
})

/** The files in which the linter finds a long function, without the exceptions of biome.json. */
function withLongFunctions(files: readonly string[]): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'parley-linter-'))
  const rules = { preset: 'none', complexity: { noExcessiveLinesPerFunction: functionRule } }
  writeFileSync(join(folder, 'biome.json'), JSON.stringify({ linter: { rules } }))
  const biome = join(root, 'node_modules/.bin/biome')
  const options = ['lint', `--config-path=${folder}`, '--max-diagnostics=none', '--reporter=json']
  const { stdout } = spawnSync(biome, [...options, ...files], { cwd: root, encoding: 'utf8' })
  rmSync(folder, { recursive: true })
  type Diagnostic = { category: string; location: { path: string } }
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: Diagnostic[] }
  const reported = diagnostics.filter(({ category }) => category.endsWith('/noExcessiveLinesPerFunction'))
  return files.filter((file) => reported.some(({ location }) => location.path === file))
}
