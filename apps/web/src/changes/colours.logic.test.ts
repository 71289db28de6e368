import { expect, it } from 'vitest'
import { diffLines } from '../diff/lines.logic.ts'
import { languageOf, sidesOf } from './colours.logic.ts'

it('knows what a file is written in by its name', () => {
  expect(languageOf('src/app.ts')).toBe('typescript')
  expect(languageOf('src/app.mts')).toBe('typescript')
  expect(languageOf('deploy/Dockerfile')).toBe('dockerfile')
  expect(languageOf('a.b/notes')).toBeUndefined()
  expect(languageOf('constructor')).toBeUndefined()
})

it('takes the two texts of a diff apart', () => {
  const patch = '@@ -1,3 +1,3 @@\n first\n-old\n+new\n last\n'
  const { after, before } = sidesOf(diffLines({ path: 'x', patch }).hunks)
  expect(after.code).toBe('first\nnew\nlast')
  expect(before.code).toBe('first\nold\nlast')
  expect(after.lines.map(({ text }) => text)).toEqual(['first', 'new', 'last'])
  const added = sidesOf(diffLines({ path: 'x', patch: '@@ -0,0 +1 @@\n+new\n' }).hunks)
  expect([added.after.code, added.before.code]).toEqual(['new', ''])
})
