import type { TreeEntry } from '@parley/protocol'
import { expect, it } from 'vitest'
import { cannotOpen, type Level, treeMove, treeRows } from './tree.logic.ts'

const file = (name: string): TreeEntry => ({ name, kind: 'file', size: 1 })
const folder = (name: string): TreeEntry => ({ name, kind: 'folder' })
const levels = new Map<string, Level>([
  ['', { entries: [folder('docs'), folder('src'), { name: 'away', kind: 'link' }, file('a.ts')] }],
  ['src', { entries: [folder('deep'), file('b.ts')], cut: true }],
  ['src/deep', { error: new Error('gone') }],
])
const rows = treeRows({ levels, opened: new Set(['src', 'src/deep', 'docs', 'gone']) })

it('the rows of a tree are the entries of its open folders', () => {
  expect(rows.map(({ path, depth, place, of, note }) => [path, depth, `${place}/${of}`, note])).toEqual([
    ['docs', 1, '1/4', 'loading'],
    ['src', 1, '2/4', 'cut'],
    ['src/deep', 2, '1/2', 'failed'],
    ['src/b.ts', 2, '2/2', undefined],
    ['away', 1, '3/4', undefined],
    ['a.ts', 1, '4/4', undefined],
  ])
  expect(rows.filter(({ entry }) => cannotOpen(entry)).map(({ path }) => path)).toEqual(['away'])
})

it('keys move in the tree as the ARIA pattern for trees describes', () => {
  const moves = (active: number, ...keys: string[]) => keys.map((key) => treeMove(key, rows, active))
  expect(moves(3, 'ArrowDown', 'ArrowUp', 'Home', 'End', 'PageDown')).toEqual([
    { to: 4 },
    { to: 2 },
    { to: 0 },
    { to: 5 },
    { to: 5 },
  ])
  expect(moves(1, 'ArrowRight', 'ArrowLeft', 'Enter')).toEqual([{ to: 2 }, { do: 'close' }, { do: 'choose' }])
  expect(moves(3, 'ArrowRight', 'ArrowLeft')).toEqual([undefined, { to: 1 }])
  // The entries of an open folder are still loading.
  expect(treeMove('ArrowRight', rows, 0)).toBeUndefined()
  const closed = treeRows({ levels, opened: new Set() })
  expect(treeMove('ArrowRight', closed, 1)).toEqual({ do: 'open' })
  expect(moves(3, 'a', 'A', 'x', 'F5')).toEqual([{ to: 4 }, { to: 4 }, undefined, undefined])
  expect(treeMove('ArrowDown', [], -1)).toEqual({ to: 0 })
})
