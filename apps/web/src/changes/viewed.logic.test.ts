import type { FileChange } from '@parley/protocol'
import { expect, it } from 'vitest'
import { isViewed, nextUnviewed } from './viewed.logic.ts'

const file = (path: string, blob?: string): FileChange => ({
  path,
  status: 'modified',
  binary: false,
  generated: false,
  ...(blob && { blob }),
})
const files = [file('a', '1'), file('b', '2'), file('c', '3'), file('d')]

it('a file is viewed only with the content that was viewed', () => {
  const marks = new Map([
    ['a', '1'],
    ['b', 'other'],
  ])
  expect(files.map((one) => isViewed(marks, one))).toEqual([true, false, false, false])
})

it('the next file that is not viewed is found, from the start again after the last file', () => {
  const marks = new Map([['b', '2']])
  expect(nextUnviewed(marks, files, 'a')?.path).toBe('c')
  expect(nextUnviewed(marks, files, 'd')?.path).toBe('a')
  expect(nextUnviewed(new Map(), [file('a', '1')], 'a')).toBeUndefined()
})
