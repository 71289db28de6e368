import { expect, it } from 'vitest'
import { foldersConcerned, mayConcern } from './changed-paths.logic.ts'

it('a change concerns the file itself, a folder around it, or everything', () => {
  expect(mayConcern('src/a.ts', ['src/a.ts'])).toBe(true)
  expect(mayConcern('src/a.ts', ['src'])).toBe(true)
  expect(mayConcern('src/a.ts', undefined)).toBe(true)
  expect(mayConcern('src/a.ts', ['sr', 'src/a', 'src/a.tsx'])).toBe(false)
})

it('a change concerns the folder that contains the file, and folders below a changed folder', () => {
  const shown = ['', 'src', 'src/deep', 'docs']
  expect(foldersConcerned(shown, ['src/a.ts'])).toEqual(['src'])
  expect(foldersConcerned(shown, ['src'])).toEqual(['', 'src', 'src/deep'])
  expect(foldersConcerned(shown, ['new.ts'])).toEqual([''])
  expect(foldersConcerned(shown, undefined)).toEqual(shown)
})
