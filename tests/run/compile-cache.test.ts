import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { TemporaryFolder } from '../../packages/server/src/testing/temporary-folder.ts'
import { compileCacheFolder } from './compile-cache.ts'

it('a compile cache with too many entries is emptied', () => {
  using root = new TemporaryFolder()
  const folder = compileCacheFolder(root.path)
  mkdirSync(join(folder, 'v24'), { recursive: true })
  for (const name of ['a', 'b']) writeFileSync(join(folder, 'v24', name), '')
  expect(compileCacheFolder(root.path, 3)).toBe(folder)
  expect(existsSync(join(folder, 'v24/a'))).toBe(true)
  expect(compileCacheFolder(root.path, 2)).toBe(folder)
  expect(existsSync(folder)).toBe(false)
})
