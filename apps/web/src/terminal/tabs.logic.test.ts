import type { Terminal } from '@parley/protocol'
import { expect, it } from 'vitest'
import { endText, noTabs, tabNames, withListed, withOpened, withoutTab } from './tabs.logic.ts'

const terminal = (id: string, more: Partial<Terminal> = {}): Terminal => ({
  terminalId: id,
  sessionId: 'ses_1',
  title: 'bash',
  startedAt: 0,
  cols: 80,
  rows: 24,
  ...more,
})
const names = (...terminals: Terminal[]) => [...tabNames(terminals).values()]

it('terminals are numbered and named after the running program', () => {
  expect(names(terminal('a'))).toEqual(['bash'])
  expect(names(terminal('a'), terminal('b', { running: 'sleep' }))).toEqual(['bash 1', 'bash 2 · sleep'])
  expect(names(terminal('a', { title: 'vim notes', running: 'vim' }))).toEqual(['vim notes'])
  expect(names(terminal('a', { title: '', exitCode: 0 }))).toEqual(['Terminal (ended)'])
})

const [first, second] = [terminal('a', { startedAt: 1 }), terminal('b', { startedAt: 2, running: 'sleep' })]

it('a terminal that the server no longer lists stays, on screen and in its place', () => {
  const both = withListed(noTabs, [first, second])
  expect(both.shown).toBe('b')
  const ended = withListed(both, [first])
  expect(ended.shown).toBe('b')
  expect(names(...ended.tabs)).toEqual(['bash 1', 'bash 2 (ended)'])
  expect(withListed(ended, [first, second])).toEqual(both)
  expect(withListed({ ...both, shown: 'a' }, [second]).tabs.map(({ terminalId }) => terminalId)).toEqual([
    'a',
    'b',
  ])
})

it('the last terminal is shown when the person closes the one on screen', () => {
  const both = withListed(noTabs, [first, second])
  expect(withoutTab(both, 'a')).toEqual({ tabs: [second], shown: 'b' })
  expect(withoutTab(both, 'b')).toEqual({ tabs: [first], shown: 'a' })
  expect(withoutTab(withoutTab(both, 'b'), 'a')).toEqual(noTabs)
  expect(withOpened(withoutTab(both, 'b'), second)).toEqual(both)
})

it('the reason why a terminal cannot be used is shown', () => {
  expect(endText({ state: 'open', wasLost: true }, false)).toBeUndefined()
  expect(endText({ state: 'lost', wasLost: true }, true)).toBeUndefined()
  expect(endText({ state: 'gone', wasLost: true }, true)).toBe('This terminal ended: its server stopped.')
  expect(endText({ state: 'gone', wasLost: false }, true)).toContain('or it was closed in another window')
  expect(endText({ state: 'open', wasLost: false }, true)).toBe('This terminal was closed in another window.')
})
