import type { Block, SessionState } from '@parley/protocol'
import { expect, it } from 'vitest'
import { hasNewChanges } from './first-change.logic.ts'

const now = 10_000_000
type Given = Parameters<typeof hasNewChanges>[0]
const turnId = 'trn_1'
const snapshot = (tree: string) => ({ tree, seq: 1, at: 1 })
const ended = (after: string, endedAt = now): Given => ({
  lastTurn: { turnId, endedAt } as NonNullable<SessionState['lastTurn']>,
  snapshots: { first: snapshot('a'), turns: [{ turnId, before: snapshot('a'), after: snapshot(after) }] },
})
const call = (kind: string, status = 'completed') => ({ type: 'tool-call', kind, status }) as Block

it('new changes are found by the snapshots of the last turn, and before its end by a call that writes', () => {
  expect(hasNewChanges(ended('b'), undefined, now)).toBe(true)
  expect(hasNewChanges(ended('a'), undefined, now)).toBe(false)
  expect(hasNewChanges(ended('b', now - 2 * 60 * 60_000), undefined, now)).toBe(false)
  const running = { turn: { turnId } as NonNullable<SessionState['turn']> }
  expect(hasNewChanges(running, call('edit'), now)).toBe(true)
  expect(hasNewChanges(running, call('edit', 'denied'), now)).toBe(false)
  expect(hasNewChanges(running, call('read'), now)).toBe(false)
  expect(hasNewChanges({}, call('edit'), now)).toBe(false)
})
