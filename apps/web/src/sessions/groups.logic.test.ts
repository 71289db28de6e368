import type { SessionSummary } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { groupsOf, isInWorktree, lookingAlike, sharedNames, shownAtFirst } from './groups.logic.ts'

const session = (id: string, more: Partial<SessionSummary> = {}): SessionSummary => ({
  ...{ id, epoch: 'e', seq: 1, createdAt: 1, updatedAt: 1, agent: 'demo', cwd: '/code/shop', title: id },
  ...{ archived: false, pinned: false, status: 'idle', waiting: 0 },
  ...more,
})
const idOf = ({ project, cwd }: SessionSummary) => project ?? cwd

describe('the groups of the session list', () => {
  const shop = { project: '/code/shop/.git' }
  const sessions = [
    session('a', { ...shop, createdAt: 5, updatedAt: 90 }),
    session('b', { cwd: '/notes', createdAt: 9, updatedAt: 80 }),
    session('c', { ...shop, cwd: '/trees/c', createdAt: 7, updatedAt: 70 }),
    session('d', { ...shop, pinned: true, createdAt: 20, updatedAt: 60 }),
  ]

  it('are the pinned sessions and one group for each project, in the order of their newest sessions', () => {
    const groups = groupsOf(sessions, new Map([['/code/shop/.git', { name: 'The shop' }]]), idOf)
    expect(groups.map(({ name, root, sessions: its }) => [name, root, its.map(({ id }) => id)])).toEqual([
      ['Pinned', undefined, ['d']],
      ['notes', '/notes', ['b']],
      ['The shop', '/code/shop', ['a', 'c']],
    ])
  })

  it('keep their order when a session changes', () => {
    const order = (list: SessionSummary[]) => groupsOf(list, new Map(), idOf).map(({ key }) => key)
    const changed = sessions.map((one) => (one.id === 'c' ? { ...one, updatedAt: 200 } : one))
    expect(order(changed)).toEqual(order(sessions))
  })

  it('distinguish sessions of different agents if their titles begin alike, such as a session and its hand-off', () => {
    const long = 'Make the greeting polite for everybody'
    const list = [
      session('a', { title: long }),
      session('b', { title: `${long} (codex)`, agent: 'codex' }),
      session('c', { title: 'Short' }),
      session('d', { title: 'Short (codex)', agent: 'codex' }),
      session('e', { title: 'Twice' }),
      session('f', { title: 'Twice' }),
      session('g', { title: 'Alone', agent: 'codex' }),
    ]
    expect([...lookingAlike(list, String)]).toEqual(['a', 'b', 'c', 'd'])
  })

  it('show their folders if they share a name', () => {
    const groups = groupsOf(
      [session('a', { cwd: '/x/app' }), session('b', { cwd: '/y/app' })],
      new Map(),
      idOf,
    )
    expect([...sharedNames(groups)]).toEqual(['app'])
    expect(sharedNames(groups.slice(1)).size).toBe(0)
  })
})

describe('the rows of a group that are shown at first', () => {
  const many = Array.from({ length: 12 }, (_, index) => session(`s${index}`))
  const ids = (list: readonly SessionSummary[]) => list.map(({ id }) => id)

  it('are the first eight, and those that wait, work or are open', () => {
    const busy = many.map((one, index) => ({
      ...one,
      ...(index === 9 && { waiting: 1 }),
      ...(index === 11 && { status: 'working' as const }),
    }))
    expect(ids(shownAtFirst(many, undefined))).toEqual(ids(many.slice(0, 8)))
    expect(ids(shownAtFirst(busy, 's10'))).toEqual(ids(many.filter((_, index) => index !== 8)))
  })

  it('are all of them if only one would be left out', () => {
    expect(shownAtFirst(many.slice(0, 9), undefined)).toHaveLength(9)
  })
})

it.each([
  [{ project: '/code/shop/.git', cwd: '/code/shop' }, false],
  [{ project: '/code/shop/.git', cwd: '/code/shop/packages/a' }, false],
  [{ project: '/code/shop/.git', cwd: '/code/shop-2' }, true],
  [{ project: '/srv/shop.git', cwd: '/trees/one' }, true],
  [{ project: '/notes', cwd: '/notes' }, false],
  [{ cwd: '/notes' }, false],
  [{ cwd: '/w', worktree: { branch: 'parley/a', path: '/w', phase: 'ready' as const } }, true],
  [{ project: '/.git', cwd: '/etc' }, false],
])('%o is in a worktree: %s', (at, expected) => {
  expect(isInWorktree(at)).toBe(expected)
})
