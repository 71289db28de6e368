import { expect, it } from 'vitest'
import { diffLines } from '../parts/diff/lines.logic.ts'
import { pairsOf } from './split.logic.ts'

it('removed lines are beside the added lines that replace them', () => {
  const { hunks } = diffLines({ path: 'x', before: 'a\nb\nc\nd\n', after: 'a\nB\nBB\nc\n' })
  const shown = pairsOf(hunks[0]!.lines).map(({ before, after }) => [before?.text, after?.text])
  expect(shown).toEqual([
    ['a', 'a'],
    ['b', 'B'],
    [undefined, 'BB'],
    ['c', 'c'],
    ['d', undefined],
  ])
})
