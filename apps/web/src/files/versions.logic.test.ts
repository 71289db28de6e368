import { expect, it } from 'vitest'
import { versionsOf, withVersion } from './versions.logic.ts'

const taken = (tree: string, seq: number) => ({ tree, seq, at: seq })
const timeOf = (at: number) => `0:0${at}`

it('the versions of a file are the last commit and the snapshots, without those with the same content', () => {
  const snapshots = {
    first: taken('a', 1),
    turns: [
      { turnId: 't1', before: taken('a', 1), after: taken('b', 2) },
      { turnId: 't2', before: taken('b', 3) },
      { turnId: 't3', before: taken('c', 4) },
    ],
  }
  expect(versionsOf({ snapshots, hasCommit: true, timeOf })).toEqual([
    { rev: 'HEAD', label: 'In the last commit' },
    { rev: 'c', label: 'Before the last turn' },
    { rev: 'b', label: 'Before the turn of 0:03' },
    { rev: 'a', label: 'Before the turn of 0:01' },
  ])
  expect(versionsOf({ snapshots: undefined, hasCommit: false, timeOf })).toEqual([])
})

it('the version of the address can always be chosen', () => {
  expect(withVersion([], 'HEAD')).toEqual([{ rev: 'HEAD', label: 'Version HEAD' }])
  expect(withVersion([{ rev: 'HEAD', label: 'x' }], 'HEAD')).toHaveLength(1)
  expect(withVersion([], undefined)).toEqual([])
})
