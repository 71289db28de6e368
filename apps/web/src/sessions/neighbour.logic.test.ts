import { describe, expect, it } from 'vitest'
import { neighbourOf } from './neighbour.logic.ts'

describe('after a row is gone, one goes on', () => {
  const before = ['a', 'b', 'c', 'd']

  it('at the one that came after it', () => {
    expect(neighbourOf('b', before, ['a', 'c', 'd'])).toBe('c')
    expect(neighbourOf('b', before, ['a', 'd'])).toBe('d')
  })

  it('at the one before it, if it was the last', () => {
    expect(neighbourOf('d', before, ['a', 'b', 'c'])).toBe('c')
    expect(neighbourOf('c', before, ['a'])).toBe('a')
  })

  it('at the row itself, if it is elsewhere in the list now', () => {
    expect(neighbourOf('c', before, ['c', 'a', 'b', 'd'])).toBe('c')
  })

  it('at the first of another list, or nowhere if that is empty', () => {
    expect(neighbourOf('b', before, ['x', 'y'])).toBe('x')
    expect(neighbourOf('a', ['a'], [])).toBeUndefined()
  })
})
