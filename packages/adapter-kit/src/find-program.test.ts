import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { expect, it } from 'vitest'
import { folderForTest } from '../../server/src/testing/temporary-folder.ts'
import { findProgram } from './find-program.ts'

it('ignores relative entries of PATH, which would lead into the session folder', () => {
  const folder = folderForTest()
  writeFileSync(join(folder, 'agent'), '#!/bin/sh\n', { mode: 0o755 })
  expect(findProgram({ name: 'agent', env: { PATH: `/nowhere:${folder}` } })).toBe(join(folder, 'agent'))
  const near = relative(process.cwd(), folder)
  expect(findProgram({ name: 'agent', env: { PATH: `${near}:.:` } })).toBeUndefined()
})
