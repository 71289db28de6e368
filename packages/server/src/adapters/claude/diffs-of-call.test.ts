import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { folderForFile } from '../../testing/temporary-folder.ts'
import { diffsOfCall } from './describe-call.ts'

const cwd = folderForFile()
const session = { cwd, settings: {} }
const diffOf = async (name: string, input: Record<string, unknown>) =>
  (await diffsOfCall(name, input, session)).diffs?.[0]

beforeAll(() => {
  writeFileSync(join(cwd, 'a.txt'), 'one\ntwo\n')
  const cells = [
    { id: 'c1', source: ['x = 1\n', 'y = 2'] },
    { id: 'c2', source: 'print(x)' },
  ]
  writeFileSync(join(cwd, 'n.ipynb'), JSON.stringify({ cells }))
})

it("gives a diff for each of Claude's tools that change files", async () => {
  const file_path = join(cwd, 'a.txt')
  const edit = { old_string: 'two', new_string: '2' }
  expect((await diffOf('Edit', { file_path, ...edit }))?.patch).toContain('-two\n+2')
  const edits = [edit, { old_string: 'one', new_string: '1' }]
  expect((await diffOf('MultiEdit', { file_path, edits }))?.patch).toContain('-one\n-two\n+1\n+2')
  expect((await diffOf('Write', { file_path, content: 'one\n' }))?.patch).toContain('-two')
  expect(await diffOf('Write', { file_path: 'b.txt', content: 'b' })).toMatchObject({ before: null })
})

it('shows a notebook cell by its source', async () => {
  const notebook_path = join(cwd, 'n.ipynb')
  const cell = (input: object) => diffOf('NotebookEdit', { notebook_path, ...input })
  expect(await cell({ cell_id: 'c1', new_source: 'x = 2' })).toMatchObject({
    before: 'x = 1\ny = 2',
    after: 'x = 2',
  })
  expect(await cell({ cell_id: 'cell-1', new_source: 'y' })).toMatchObject({ before: 'print(x)' })
  expect(await cell({ new_source: 'z', edit_mode: 'insert' })).toMatchObject({ before: '', after: 'z' })
  expect(await cell({ cell_id: 'c2', new_source: '', edit_mode: 'delete' })).toMatchObject({ after: '' })
  expect(await cell({ cell_id: 'nobody', new_source: 'z' })).toEqual({ path: notebook_path, after: 'z' })
})

it('gives no diff for any other input', async () => {
  const odd = [
    {},
    { file_path: 3 },
    { file_path: 'a.txt' },
    { file_path: 'a.txt', edits: 'x' },
    { edits: [3] },
  ]
  for (const name of ['Edit', 'MultiEdit', 'Write', 'NotebookEdit', 'Bash'])
    for (const input of odd) expect(await diffsOfCall(name, input, session)).toEqual({})
})
