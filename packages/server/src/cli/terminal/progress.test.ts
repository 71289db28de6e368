import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { contextUnderTest } from '../context-under-test.ts'
import { startProgress } from './progress.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

it('without a terminal, progress is printed as a new line from time to time', () => {
  const { said, context } = contextUnderTest({ env: {}, cwd: '/' })
  const progress = startProgress('installing tiny', context.output)
  progress.say('fetch one')
  vi.advanceTimersByTime(9_000)
  progress.say('fetch two')
  expect(said.err).toBe('installing tiny\n')
  vi.advanceTimersByTime(11_000)
  expect(said.err).toBe(
    'installing tiny\ninstalling tiny: 10 s, fetch two\ninstalling tiny: 20 s, fetch two\n',
  )
  progress[Symbol.dispose]()
  vi.advanceTimersByTime(60_000)
  expect(said).toEqual({ out: '', err: expect.stringMatching(/20 s, fetch two\n$/) })
})

it('on a terminal, progress is one line that changes, no wider than the terminal, and is removed at the end', () => {
  const { said, context } = contextUnderTest({ env: {}, cwd: '/' })
  const output = { ...context.output, isErrTerminal: true, columns: () => 40 }
  const progress = startProgress('installing tiny', output)
  const wipe = '\r\u001b[2K'
  progress.say(`fetch GET 200 ${'x'.repeat(100)}`)
  vi.advanceTimersByTime(1_000)
  const shown = said.err.split(wipe).slice(1)
  expect(said.err).not.toContain('\n')
  expect(shown.at(-1)).toMatch(/^installing tiny {2}1 s {2}fetch GET 200 x*…$/)
  expect(shown.every((line) => line.length < 40)).toBe(true)
  progress[Symbol.dispose]()
  expect(said.err.endsWith(wipe)).toBe(true)
})
