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

/**
 * Agents with an adapter of their own. The adapter for ACP is part of the library, so it is not removed. Claude is
 * last, because many more files are checked again after its removal, and after its restoration, than for the other
 * agents.
 */
const removable = [
  ['codex', 'createCodexAdapter'],
  ['opencode', 'createOpenCodeAdapter'],
  ['claude', 'createClaudeAdapter'],
] as const

it('each adapter can be removed by deleting its folder and its entry, and the rest still passes the checks', () => {
  const folder = copy()
  const bin = join(folder, 'node_modules/.bin')
  const check = (program: string, ...args: string[]) =>
    execFileSync(join(bin, program), args, {
      cwd: folder,
      encoding: 'utf8',
      stdio: 'pipe',
      env: withNode(bin),
    })
  for (const [name, create] of removable) {
    const removed = [
      `packages/server/src/adapters/${name}`,
      // The program that records the adapter's fixtures is useless without the adapter.
      `packages/server/scripts/record-${name}-fixtures.ts`,
      `packages/server/scripts/${name}`,
    ]
    for (const path of removed) rmSync(join(folder, path), { recursive: true })
    const list = 'packages/server/src/adapters/index.ts'
    writeFileSync(join(folder, list), withoutEntry(readFileSync(join(root, list), 'utf8'), name, create))
    // The linter checks each file on its own, so only the changed file can fail.
    check('biome', 'check', '--write', '--vcs-enabled=false', list)
    // Several threads would check the same types several times, and other tests use the other processors.
    expect(check('tsc', '-b', '--singleThreaded'), name).toBe('')
    expect(check('tsc', '-p', 'tests', '--singleThreaded'), name).toBe('')
    const rule = 'every import is allowed by the rule of its folder'
    expect(check('vitest', 'run', '--project', 'architecture', '-t', rule), name).toContain('passed')
    for (const path of [...removed, list])
      cpSync(join(root, path), join(folder, path), { recursive: true, preserveTimestamps: true })
  }
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
