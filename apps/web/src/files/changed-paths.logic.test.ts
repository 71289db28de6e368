import { expect, it } from 'vitest'
import { foldersConcerned, mayConcern } from './changed-paths.logic.ts'

it('a file may have changed if the file, a folder above it, or everything is reported as changed', () => {
  expect(mayConcern('src/a.ts', ['src/a.ts'])).toBe(true)
  expect(mayConcern('src/a.ts', ['src'])).toBe(true)
  expect(mayConcern('src/a.ts', undefined)).toBe(true)
  expect(mayConcern('src/a.ts', ['sr', 'src/a', 'src/a.tsx'])).toBe(false)
})

it('the entries of a folder may have changed if a file in it or a folder above it is reported as changed', () => {
  const shown = ['', 'src', 'src/deep', 'docs']
  expect(foldersConcerned(shown, ['src/a.ts'])).toEqual(['src'])
  expect(foldersConcerned(shown, ['src'])).toEqual(['', 'src', 'src/deep'])
  expect(foldersConcerned(shown, ['new.ts'])).toEqual([''])
  expect(foldersConcerned(shown, undefined)).toEqual(shown)
})
