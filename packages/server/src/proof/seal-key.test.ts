import { join } from 'node:path'
import { expect, it } from 'vitest'
import { folderForTest } from '../testing/temporary-folder.ts'
import { openSealer } from './seal-key.ts'

it('a sealer gives a new salt of 16 random characters each time', () => {
  const sealer = openSealer(join(folderForTest(), 'seal-key.pem'))
  const salts = Array.from({ length: 1000 }, () => sealer.salt())
  expect(salts.filter((salt) => !/^[\w-]{16}$/.test(salt))).toEqual([])
  expect(new Set(salts).size).toBe(1000)
})
