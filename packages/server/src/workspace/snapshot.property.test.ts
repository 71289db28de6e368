import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { TemporaryFolder } from '../testing/temporary-folder.ts'
import { git } from './hostile-repository-under-test.ts'
import { createWorkspace } from './index.ts'
import { restoreTo } from './restore-under-test.ts'
import { createSessionFolder } from './session-folder.ts'

const env = { PATH: process.env.PATH, HOME: '/nonexistent' }
const runs = Number(process.env.PARLEY_PROPERTY_RUNS ?? 20)

/** Few names, so that files, links and folders take each other's place. */
const name = fc.constantFrom('a', 'b', 'a b', 'ü', '-x', 'A')
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join('/'))
const content = fc.constantFrom(
  '',
  'one\n',
  'one\ntwo\n',
  'one\r\ntwo\r\n',
  'no end',
  'a\0b',
  'long\n'.repeat(40),
)
const edit = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: fc.constant('write' as const), path, content }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('remove' as const), path }) },
  fc.record({ type: fc.constant('link' as const), path, to: fc.constantFrom('a', '../a', '/etc/passwd') }),
  fc.record({ type: fc.constant('executable' as const), path }),
  fc.record({ type: fc.constant('commit' as const) }),
  fc.record({ type: fc.constant('stage' as const) }),
)
type Edit = typeof edit extends fc.Arbitrary<infer One> ? One : never
const edits = fc.array(edit, { minLength: 1, maxLength: 8 })

function perform(folder: string, one: Edit): void {
  if (one.type === 'stage') return void git(folder, 'add', '-A')
  if (one.type === 'commit') return void git(folder, 'commit', '-qm', 'x', '--allow-empty')
  const file = join(folder, one.path)
  if (one.type === 'executable') {
    if (Object.hasOwn(contentsOf(folder), one.path) && !lstatSync(file).isSymbolicLink())
      chmodSync(file, 0o755)
    return
  }
  makeWay(folder, one.path)
  rmSync(file, { recursive: true, force: true })
  if (one.type === 'remove') return
  mkdirSync(dirname(file), { recursive: true })
  if (one.type === 'link') symlinkSync(one.to, file)
  else writeFileSync(file, one.content)
}

/** Removes files and links at the parent folders of the path. */
function makeWay(folder: string, path: string): void {
  const parts = path.split('/').slice(0, -1)
  for (const [index] of parts.entries()) {
    const parent = join(folder, ...parts.slice(0, index + 1))
    const found = lstatSync(parent, { throwIfNoEntry: false })
    if (found && !found.isDirectory()) rmSync(parent)
  }
}

/** All files and links with their contents. Empty folders are left out, because git does not store them. */
function contentsOf(folder: string): Record<string, string> {
  const found = readdirSync(folder, { recursive: true, withFileTypes: true })
  const files = found.filter((entry) => !entry.isDirectory())
  return Object.fromEntries(
    files
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((file) => !file.startsWith(join(folder, '.git/')))
      .map((file) => [file.slice(folder.length + 1), describe(file)]),
  )
}

function describe(file: string): string {
  const found = lstatSync(file)
  if (found.isSymbolicLink()) return `link to ${readlinkSync(file)}`
  return `${found.mode & 0o100 ? 'executable ' : ''}${readFileSync(file, 'latin1')}`
}

it('restoring all changed paths gives exactly the files of the first snapshot, and undoing this gives those of the second', async () => {
  using folders = new TemporaryFolder()
  const shadows = createSessionFolder({ env, root: folders.folder('shadows') })
  const workspace = createWorkspace({ env, folders: shadows })
  await fc.assert(
    fc.asyncProperty(fc.boolean(), edits, edits, async (hasRepository, before, after) => {
      const folder = folders.folder('project')
      const seen = { path: folder, trusted: false }
      const applicable = (list: Edit[]) =>
        list.filter(({ type }) => hasRepository || (type !== 'stage' && type !== 'commit'))
      if (hasRepository) git(folder, 'init', '-q', '-b', 'main', '--template=')
      for (const one of applicable(before)) perform(folder, one)
      const first = contentsOf(folder)
      const { tree } = await shadows.snapshot(folder, { sessionId: 'ses_1' })
      for (const one of applicable(after)) perform(folder, one)
      const second = contentsOf(folder)
      const { files } = await workspace.changes(seen, { with: 'snapshot', from: tree })
      const paths = files.flatMap((file) => (file.from ? [file.from, file.path] : [file.path]))
      const { after: restored, before: undone, left } = await restoreTo(shadows, folder, { tree, paths })
      expect(contentsOf(folder)).toEqual(first)
      expect({ restored, left }).toEqual({ restored: tree, left: [] })
      const back = await shadows.move(folder, { sessionId: 'ses_1', from: restored, to: undone })
      expect(contentsOf(folder)).toEqual(second)
      expect(back.left).toEqual([])
    }),
    { numRuns: runs },
  )
})
