import { describe, expect, it } from 'vitest'
import { chunksOf } from './long-text.logic.ts'

describe('a long text in pieces', () => {
  it('is one piece while it is short', () => {
    expect(chunksOf('')).toEqual([''])
    expect(chunksOf('a\nb')).toEqual(['a\nb'])
  })

  it('ends its pieces with lines, and loses none of them', () => {
    const lines = Array.from({ length: 5000 }, (_, index) => `line ${index}`)
    const chunks = chunksOf(lines.join('\n'))
    expect(chunks.length).toBeGreaterThan(3)
    expect(chunks.join('\n').split('\n')).toEqual(lines)
  })

  it('cuts a line that never ends', () => {
    const chunks = chunksOf('x'.repeat(20_001))
    expect(chunks.join('')).toHaveLength(20_001)
    expect(Math.max(...chunks.map((chunk) => chunk.length))).toBeLessThanOrEqual(8000)
  })
})
