import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type CaseResult, casesIn } from './cases.ts'
import { runNode } from './run-node.ts'

const root = resolve(import.meta.dirname, '../..')
const vitest = join(root, 'node_modules/vitest/vitest.mjs')
const projects = ['unit', 'agents', 'main'].flatMap((name) => ['--project', name])

/** Runs test files of the repository with further variables, and returns the results of their cases. */
export async function runTests(
  files: readonly string[],
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<CaseResult[]> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-drift-'))
  const report = join(folder, 'report.json')
  try {
    const args = [vitest, 'run', ...projects, '--reporter=json', `--outputFile=${report}`, ...files]
    const { output } = await runNode(args, { cwd: root, env, signal })
    try {
      return casesIn(JSON.parse(readFileSync(report, 'utf8')))
    } catch {
      throw new Error(`the tests did not run:\n${output}`)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
