import { expect, it } from 'vitest'
import { languageOfFile } from './languages.ts'

it('the language of a file is found by its name', () => {
  expect(languageOfFile('src/app.ts')).toBe('typescript')
  expect(languageOfFile('src/app.mts')).toBe('typescript')
  expect(languageOfFile('deploy/Dockerfile')).toBe('dockerfile')
  expect(languageOfFile('a.b/notes')).toBeUndefined()
  expect(languageOfFile('constructor')).toBeUndefined()
})
