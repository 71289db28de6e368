import { join } from 'node:path'
import { expect, it } from 'vitest'
import { folderForTest } from '../testing/temporary-folder.ts'
import { openSealer } from './seal-key.ts'

it('a sealer gives a new seed of 16 random bytes each time', () => {
  const sealer = openSealer(join(folderForTest(), 'seal-key.pem'))
  const seeds = Array.from({ length: 1000 }, () => sealer.seed())
  expect(seeds.filter((seed) => !/^[\w-]{22}$/.test(seed))).toEqual([])
  expect(new Set(seeds).size).toBe(1000)
})
