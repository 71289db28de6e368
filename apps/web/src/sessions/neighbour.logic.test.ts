import { describe, expect, it } from 'vitest'
import { neighbourOf } from './neighbour.logic.ts'

describe('after a row is removed, the focus moves', () => {
  const before = ['a', 'b', 'c', 'd']

  it('to the row after it', () => {
    expect(neighbourOf('b', before, ['a', 'c', 'd'])).toBe('c')
    expect(neighbourOf('b', before, ['a', 'd'])).toBe('d')
  })

  it('to the row before it, if it was the last', () => {
    expect(neighbourOf('d', before, ['a', 'b', 'c'])).toBe('c')
    expect(neighbourOf('c', before, ['a'])).toBe('a')
  })

  it('to the row itself, if it only moved in the list', () => {
    expect(neighbourOf('c', before, ['c', 'a', 'b', 'd'])).toBe('c')
  })

  it('to the first row of another list, or to none if that is empty', () => {
    expect(neighbourOf('b', before, ['x', 'y'])).toBe('x')
    expect(neighbourOf('a', ['a'], [])).toBeUndefined()
  })
})
