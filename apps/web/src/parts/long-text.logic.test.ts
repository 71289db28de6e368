import { describe, expect, it } from 'vitest'
import { chunksOf } from './long-text.logic.ts'

describe('a long text in chunks', () => {
  it('is one chunk if it is short', () => {
    expect(chunksOf('')).toEqual([''])
    expect(chunksOf('a\nb')).toEqual(['a\nb'])
  })

  it('is cut at line ends without losing a line', () => {
    const lines = Array.from({ length: 5000 }, (_, index) => `line ${index}`)
    const chunks = chunksOf(lines.join('\n'))
    expect(chunks.length).toBeGreaterThan(3)
    expect(chunks.join('\n').split('\n')).toEqual(lines)
  })

  it('is cut inside a line that is too long', () => {
    const chunks = chunksOf('x'.repeat(20_001))
    expect(chunks.join('')).toHaveLength(20_001)
    expect(Math.max(...chunks.map((chunk) => chunk.length))).toBeLessThanOrEqual(8000)
  })
})
