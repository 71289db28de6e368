import type { MergePreview } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { mergeText, sentMerge, shownPaths } from './merge-text.logic.ts'

const preview: MergePreview = {
  ...{ branch: 'fix', commit: 'c', into: { branch: 'main', commit: 'm', folder: '/app' }, fastForward: true },
  ...{
    commits: [],
    commitCount: 2,
    files: [],
    conflicts: [],
    blocked: [],
    uncommitted: [],
    uncommittedCount: 0,
  },
}
const refused = { code: 'conflict', message: 'No.' } as const

describe('a merge', () => {
  it('is described with the branches and the folder whose files change', () => {
    expect(mergeText(preview)).toBe(
      '2 commits of fix into main, which has no newer commits. The files in /app change too.',
    )
    expect(mergeText({ ...preview, into: { branch: 'main', commit: 'm' }, fastForward: false })).toBe(
      '2 commits of fix into main. main is not checked out, so only the branch moves.',
    )
    expect(mergeText({ ...preview, refused, conflicts: ['a'] })).toBe(
      '2 commits of fix into main: there are conflicts.',
    )
    expect(mergeText({ ...preview, commitCount: 0 })).toBe('')
  })

  it('is sent exactly as the preview shows it, and not if it is refused', () => {
    const sent = { type: 'branch.merge', branch: 'fix', commit: 'c', into: 'main', onto: 'm', folder: '/app' }
    expect(sentMerge(preview, { way: 'merge', message: ' ' })).toEqual(sent)
    expect(sentMerge(preview, { way: 'squash', message: 'Fix' })).toEqual({
      ...sent,
      way: 'squash',
      message: 'Fix',
    })
    expect(sentMerge({ ...preview, refused }, { way: 'merge', message: '' })).toBeUndefined()
  })

  it('names the first paths, and counts the others', () => {
    expect(shownPaths(['a', 'b'], 2)).toEqual(['a', 'b'])
    expect(shownPaths(Array.from({ length: 20 }, String), 30).at(-1)).toBe('and 18 more')
  })
})
