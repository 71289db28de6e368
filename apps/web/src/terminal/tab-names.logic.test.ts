import type { Terminal } from '@parley/protocol'
import { expect, it } from 'vitest'
import { tabNames } from './tab-names.logic.ts'

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

it('numbers the terminals and names the running program', () => {
  expect(names(terminal('a'))).toEqual(['bash'])
  expect(names(terminal('a'), terminal('b', { running: 'sleep' }))).toEqual(['bash 1', 'bash 2 · sleep'])
  expect(names(terminal('a', { title: 'vim notes', running: 'vim' }))).toEqual(['vim notes'])
  expect(names(terminal('a', { title: '', exitCode: 0 }))).toEqual(['Terminal (ended)'])
})
