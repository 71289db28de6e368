import type { FileChange } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { stampsAfter } from './stamps.logic.ts'

const file = (path: string, added = 1): FileChange => ({
  path,
  status: 'modified',
  added,
  removed: 0,
  binary: false,
  generated: false,
})
const files = [file('a.ts'), file('src/b.ts'), file('src/deep/c.ts'), file('srcs.ts')]
const once = new Map(files.map(({ path }) => [path, 1]))
const grown = (stamps: ReadonlyMap<string, number>) =>
  [...stamps].flatMap(([path, stamp]) => (stamp > 1 ? [path] : []))

describe('file stamps', () => {
  it('all grow if no paths are given', () => {
    expect(grown(stampsAfter(once, { before: files, after: files }))).toHaveLength(4)
  })

  it('grow for the given files and for all files in the given folders', () => {
    const after = (...paths: string[]) => grown(stampsAfter(once, { before: files, after: files, paths }))
    expect(after('a.ts')).toEqual(['a.ts'])
    expect(after('src')).toEqual(['src/b.ts', 'src/deep/c.ts'])
    expect(after('src/deep', 'elsewhere')).toEqual(['src/deep/c.ts'])
    expect(after()).toEqual([])
  })

  it('grow for a file whose counts changed, and are removed with the file', () => {
    const after = [file('a.ts', 2), file('new.ts')]
    const stamps = stampsAfter(once, { before: files, after, paths: [] })
    expect([...stamps]).toEqual([
      ['a.ts', 2],
      ['new.ts', 1],
    ])
  })
})
