import { expect, it } from 'vitest'
import { isInsideFolders, reachOf } from './inside-folder.ts'

it.each([
  ['a.txt', true],
  ['./x/../a.txt', true],
  ['/somewhere', true],
  ['/somewhere/a', true],
  ['..a/b', true],
  ['../a.txt', false],
  ['/somewhere-else/a', false],
  ['/elsewhere/a', false],
  ['/more/a', true],
])('%s is inside: %s', (path, inside) => {
  expect(isInsideFolders(path, '/somewhere', ['/more'])).toBe(inside)
})

it('reaches outside only with a path that does', () => {
  const session = { cwd: '/somewhere', settings: { options: { directories: ['/more'] } } }
  expect(reachOf('/etc/hosts', session)).toEqual({ outside: true })
  expect(reachOf('/more/x', session)).toEqual({})
  expect(reachOf(undefined, session)).toEqual({})
})
