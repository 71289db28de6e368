import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { folderForTest } from '../testing/temporary-folder.ts'
import { createHome } from './program-under-test.ts'

/**
 * The code that a server loads before it answers, without the comments of Parley's own modules. Each module costs time
 * at every start, and memory while the server runs.
 */
const limit = { modules: 434, bytes: 2_070_000 }

it('a server loads a limited amount of code before it answers', async () => {
  const coverage = folderForTest()
  await using home = createHome()
  const { running } = await home.serve([], { env: { NODE_V8_COVERAGE: coverage } })
  running.child.kill('SIGTERM')
  await running.ended
  const files = new Set(readdirSync(coverage).flatMap((name) => scriptsIn(join(coverage, name))))
  const bytes = [...files].reduce((sum, file) => sum + codeBytes(file), 0)
  expect(files.size, 'modules').toBeGreaterThan(100)
  expect(files.size, 'modules').toBeLessThanOrEqual(limit.modules)
  expect(bytes, 'bytes of code').toBeLessThanOrEqual(limit.bytes)
  const ofModules = [...files].filter((file) =>
    /\/cli\/(own-adapters|find-module|adapter-shape)\./.test(file),
  )
  expect(ofModules, 'code for adapters that are not configured').toEqual([])
  const otherLanguages = [...files].filter((file) => /zod\/v4\/locales\/(?!en\.js)/.test(file))
  expect(otherLanguages).toEqual([])
})

function codeBytes(file: string): number {
  if (!file.endsWith('.ts')) return statSync(file).size
  const text = readFileSync(file, 'utf8').replace(/^ *\/\*\*.*?\*\/\n|^ *\/\/[^\n]*\n/gms, '')
  return Buffer.byteLength(text)
}

function scriptsIn(report: string): string[] {
  const { result } = JSON.parse(readFileSync(report, 'utf8')) as { result: { url: string }[] }
  return result.flatMap(({ url }) => (url.startsWith('file://') ? [fileURLToPath(url)] : []))
}
