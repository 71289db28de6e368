import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { folderForTest } from '../../packages/server/src/testing/temporary-folder.ts'

const root = resolve(import.meta.dirname, '../..')

/**
 * A copy of all files that are not ignored, in a separate folder. It includes the results of the last type check, so
 * that only files affected by a removal are checked again. Installed packages are hard links, or a symbolic link if the
 * temporary folder is on another file system; then the first check does not use the results, because paths differ.
 */
function copy(): string {
  const folder = folderForTest()
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
  })
  const checked = [
    'packages/protocol/dist',
    'packages/client/dist',
    'packages/server/dist',
    'apps/web/dist',
    'tests/dist',
  ]
  for (const path of [...listed.toString('utf8').split('\0'), ...checked].filter((one) => one !== '')) {
    if (!existsSync(join(root, path))) continue
    cpSync(join(root, path), join(folder, path), { recursive: true, preserveTimestamps: true })
  }
  const [installed, linked] = [join(root, 'node_modules'), join(folder, 'node_modules')]
  if (statSync(installed).dev === statSync(folder).dev) execFileSync('cp', ['-al', installed, linked])
  else symlinkSync(installed, linked)
  return folder
}

/** Agents with an adapter of their own. The adapter for ACP is part of the library, so it is not removed. */
const removable = [
  ['codex', 'createCodexAdapter'],
  ['opencode', 'createOpenCodeAdapter'],
  ['claude', 'createClaudeAdapter'],
] as const

/**
 * All adapters are removed at once, which checks the types once instead of once for each adapter. A reference from one
 * adapter to another would not be found here; the import rules refuse it.
 */
it('the adapters can be removed by deleting their folders and entries, and the rest still passes the checks', () => {
  const folder = copy()
  const bin = join(folder, 'node_modules/.bin')
  const check = (program: string, ...args: string[]) =>
    execFileSync(join(bin, program), args, {
      cwd: folder,
      encoding: 'utf8',
      stdio: 'pipe',
      env: withNode(bin),
    })
  const list = 'packages/server/src/adapters/index.ts'
  let entries = readFileSync(join(root, list), 'utf8')
  for (const [name, create] of removable) {
    const removed = [
      `packages/server/src/adapters/${name}`,
      // The program that records the adapter's fixtures is useless without the adapter.
      `packages/server/scripts/record-${name}-fixtures.ts`,
      `packages/server/scripts/${name}`,
    ]
    for (const path of removed) rmSync(join(folder, path), { recursive: true })
    entries = withoutEntry(entries, name, create)
  }
  writeFileSync(join(folder, list), entries)
  // The linter checks each file on its own, so only the changed file can fail. It removes imports of shared helpers too.
  check('biome', 'check', '--write', '--unsafe', '--vcs-enabled=false', list)
  // Several threads would check the same types several times, and other tests use the other processors.
  expect(check('tsc', '-b', '--singleThreaded')).toBe('')
  expect(check('tsc', '-p', 'tests', '--singleThreaded')).toBe('')
  const rule = 'every import is allowed by the rule of its folder'
  expect(check('vitest', 'run', '--project', 'architecture', '-t', rule)).toContain('passed')
})

/** Removes the entry of one adapter from the list of adapters, and the imports that only this entry needs. */
function withoutEntry(list: string, name: string, create: string): string {
  const entry = new RegExp(`^ +${create}\\(.*?\\}\\),\\n`, 'ms')
  expect(list).toMatch(entry)
  const lines = list.replace(entry, '').split('\n')
  return lines.filter((line) => !line.includes(create) && line.trim() !== `${name}Settings,`).join('\n')
}

function withNode(bin: string): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${bin}:${process.env.PATH}`, NO_COLOR: '1' }
}
