import { expect, it } from 'vitest'
import { diffLines } from '../parts/diff/lines.logic.ts'
import { coloursOf, sidesOf } from './colours.logic.ts'

it('a diff is split into the old and the new text', () => {
  const patch = '@@ -1,3 +1,3 @@\n first\n-old\n+new\n last\n'
  const { after, before } = sidesOf(diffLines({ path: 'x', patch }).hunks)
  expect(after.code).toBe('first\nnew\nlast')
  expect(before.code).toBe('first\nold\nlast')
  expect(after.lines.map(({ text }) => text)).toEqual(['first', 'new', 'last'])
  const added = sidesOf(diffLines({ path: 'x', patch: '@@ -0,0 +1 @@\n+new\n' }).hunks)
  expect([added.after.code, added.before.code]).toEqual(['new', ''])
})

const tokensOf = ({ code }: { code: string }) =>
  code === '' ? undefined : code.split('\n').map((text) => [[text, 'keyword'] as const])

it('the colours of unchanged and added lines come from the new text, those of removed lines from the old text', () => {
  const colouredIn = (patch: string) => {
    const sides = sidesOf(diffLines({ path: 'x', patch }).hunks)
    const tokens = { after: tokensOf(sides.after), before: tokensOf(sides.before) }
    return [...(coloursOf(sides, tokens) ?? [])].map(([{ type, text }, of]) => [type, text, of[0]?.[0]])
  }
  expect(colouredIn('@@ -1,2 +1,2 @@\n same\n-old\n+new\n')).toEqual([
    ['same', 'same', 'same'],
    ['added', 'new', 'new'],
    ['removed', 'old', 'old'],
  ])
  expect(colouredIn('@@ -1,2 +0,0 @@\n-one\n-two\n')).toEqual([
    ['removed', 'one', 'one'],
    ['removed', 'two', 'two'],
  ])
})

it('one side is coloured if only this side has tokens, and nothing if neither side has', () => {
  const sides = sidesOf(diffLines({ path: 'x', patch: '@@ -1 +1 @@\n-old\n+new\n' }).hunks)
  const after = tokensOf(sides.after)
  expect([...(coloursOf(sides, { after, before: undefined }) ?? [])].map(([{ text }]) => text)).toEqual([
    'new',
  ])
  expect(coloursOf(sides, { after: undefined, before: undefined })).toBeUndefined()
})
