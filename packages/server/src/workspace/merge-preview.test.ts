import { join } from 'node:path'
import { expect, it } from 'vitest'
import { folderForTest } from '../testing/temporary-folder.ts'
import { peopleIn, person, repository } from './folder-changes-under-test.ts'
import { git, write } from './hostile-repository-under-test.ts'

it('a preview lists the first 2,000 files, and says that there are more; filters are found for all of them', async () => {
  const main = repository({ 'a.txt': 'one\n' })
  const fix = join(folderForTest(), 'fix')
  git(main, 'worktree', 'add', '-q', '-b', 'fix', fix)
  const names = Array.from({ length: 2_000 }, (_, index) => [`x${index}`, ''] as const)
  write(fix, { ...Object.fromEntries(names), 'z.txt': 'z\n' })
  git(fix, 'add', '-A')
  git(fix, 'commit', '-qm', 'Fix')
  const { previewMerge } = peopleIn(fix, { env: person() })
  const preview = await previewMerge()
  expect([preview.filesCut, preview.files.length, preview.refused]).toEqual([true, 2_000, undefined])
  write(main, { '.gitattributes': 'z.txt filter=lfs\n' })
  expect((await previewMerge()).refused).toMatchObject({ details: { path: 'z.txt', filter: 'lfs' } })
})
