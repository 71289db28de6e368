import { expect, it } from 'vitest'
import { diffLines } from '../parts/diff/lines.logic.ts'
import { piecesOf, wordsOf } from './words.logic.ts'

it('the changed words of lines that replace similar lines are marked, up to a limit', () => {
  const { hunks } = diffLines({
    path: 'x',
    before: 'call(one, 1)\nsame\n',
    after: 'call(two, 1)\nsame\nnew\n',
  })
  const words = wordsOf(hunks)
  expect([...words].map(([{ text }, parts]) => [text, parts])).toEqual([
    ['call(one, 1)', [[5, 8]]],
    ['call(two, 1)', [[5, 8]]],
  ])
  const many = (word: string) =>
    Array.from({ length: 450 }, (_, at) => `const value${at} = ${word}`).join('\n')
  const patch = `--- x\n+++ x\n@@ -1,450 +1,450 @@\n${many('one').replaceAll(/^/gm, '-')}\n${many('two').replaceAll(/^/gm, '+')}\n`
  expect(wordsOf(diffLines({ path: 'x', patch }).hunks).size).toBe(800)
})

it('tokens are cut where changed words begin and end', () => {
  const tokens = [
    ['const', 'keyword'],
    [' a = ', ''],
    ["'text'", 'string'],
  ] as const
  expect(
    piecesOf(tokens, [
      [3, 7],
      [10, 16],
    ]),
  ).toEqual([
    ['con', 'keyword', false],
    ['st', 'keyword', true],
    [' a', '', true],
    [' = ', '', false],
    ["'text'", 'string', true],
  ])
  expect(piecesOf([['abc', '']], [])).toEqual([['abc', '', false]])
})
