import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { folderForTest } from '../../packages/server/src/testing/temporary-folder.ts'

const root = resolve(import.meta.dirname, '../..')

/** A copy of all files that are not ignored, in a separate folder; installed packages are shared. */
function copy(): string {
  const folder = folderForTest()
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
  })
  for (const path of listed
    .toString('utf8')
    .split('\0')
    .filter((one) => one !== '')) {
    if (existsSync(join(root, path))) cpSync(join(root, path), join(folder, path), { recursive: true })
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

it('an adapter can be removed by deleting its folder and its line, and the rest still passes the checks', () => {
  const folder = copy()
  const adapters = join(folder, 'packages/server/src/adapters')
  rmSync(join(adapters, 'codex'), { recursive: true })
  const list = readFileSync(join(adapters, 'index.ts'), 'utf8')
  const without = list.split('\n').filter((line) => !/codex/i.test(line))
  expect(list.split('\n').length - without.length).toBe(2)
  writeFileSync(join(adapters, 'index.ts'), without.join('\n'))
  // The recorder of its fixtures is of no use without it.
  for (const recorder of ['record-codex-fixtures.ts', 'codex']) {
    rmSync(join(folder, 'packages/server/scripts', recorder), { recursive: true })
  }
  const bin = join(folder, 'node_modules/.bin')
  const check = (program: string, ...args: string[]) =>
    execFileSync(join(bin, program), args, {
      cwd: folder,
      encoding: 'utf8',
      stdio: 'pipe',
      env: withNode(bin),
    })
  const written = ['packages', 'apps', 'tests', 'bench', 'scripts', 'examples']
  expect(check('biome', 'check', '--vcs-enabled=false', ...written)).toBe('')
  expect(check('tsc', '-b')).toBe('')
  expect(check('tsc', '-p', 'tests')).toBe('')
  expect(check('vitest', 'run', '--project', 'architecture')).toContain('passed')
})

function withNode(bin: string): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${bin}:${process.env.PATH}`, NO_COLOR: '1' }
}
