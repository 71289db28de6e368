import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { folderForTest } from '../testing/temporary-folder.ts'
import { openFile, openFolder } from './inside.ts'

it('a folder that no longer exists, and every path in it, is not found', async () => {
  const folder = folderForTest()
  const inner = join(folder, 'inner')
  rmSync(folder, { recursive: true })
  const gone = expect.objectContaining({ code: 'not_found', details: { gone: inner } })
  await expect(openFolder([inner], '')).rejects.toEqual(gone)
  await expect(openFile([inner], 'src/a.txt')).rejects.toEqual(gone)
  await expect(openFile([inner], '../a.txt')).rejects.toMatchObject({ code: 'forbidden' })
})
