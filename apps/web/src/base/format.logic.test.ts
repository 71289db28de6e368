import { describe, expect, it } from 'vitest'
import {
  ago,
  agoInWords,
  amount,
  dayOf,
  dollars,
  duration,
  folderName,
  plural,
  relativePath,
  visible,
} from './format.logic.ts'

describe('formatting', () => {
  it('formats how long ago a time was', () => {
    const now = 10 * 24 * 3_600_000
    expect([0, 59_000, 60_000, 3_600_000, 25 * 3_600_000].map((past) => ago(now - past, now))).toEqual([
      'now',
      'now',
      '1 min',
      '1 h',
      '1 d',
    ])
    expect(ago(now + 5000, now)).toBe('now')
    expect([0, 60_000, 25 * 3_600_000].map((past) => agoInWords(now - past, now))).toEqual([
      'just now',
      '1 min ago',
      '1 d ago',
    ])
    expect(agoInWords(0, now)).toBe(ago(0, now))
  })

  it('formats durations', () => {
    expect([4, 1200, 12_400, 61_000, 3_720_000].map(duration)).toEqual([
      '4 ms',
      '1.2 s',
      '12 s',
      '1 min 01 s',
      '1 h 02 min',
    ])
  })

  it('formats amounts, costs and plurals', () => {
    expect([12, 1200, 48_200, 2_400_000].map(amount)).toEqual(['12', '1.2k', '48k', '2.4M'])
    expect([0, 0.001, 0.1234].map(dollars)).toEqual(['$0', '<$0.01', '$0.12'])
    expect([plural(1, 'file'), plural(2, 'file')]).toEqual(['1 file', '2 files'])
  })

  it('shortens paths', () => {
    expect(folderName('/home/me/project/')).toBe('project')
    expect(folderName('/')).toBe('/')
    expect(relativePath('/a/b/c.ts', '/a/b')).toBe('c.ts')
    expect(relativePath('/a/bc.ts', '/a/b')).toBe('/a/bc.ts')
  })

  it('groups times by day', () => {
    const noon = new Date(2026, 5, 15, 12).getTime()
    expect(dayOf(noon - 3_600_000, noon)).toBe('Today')
    expect(dayOf(noon - 13 * 3_600_000, noon)).toBe('Yesterday')
    expect(dayOf(noon - 4 * 86_400_000, noon)).toBe('This week')
    expect(dayOf(noon - 40 * 86_400_000, noon)).toBe('Earlier')
  })

  it('makes hidden characters visible', () => {
    expect(visible('a\u202eb\u0007c')).toBe('a\\u{202e}b\u2407c')
    expect(visible('plain\ttext')).toContain('plain\ttext')
  })
})
