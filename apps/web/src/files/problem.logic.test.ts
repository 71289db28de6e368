import { ParleyError } from '@parley/protocol'
import { expect, it } from 'vitest'
import { fileProblem } from './problem.logic.ts'

const problem = (code: ParleyError['code'], details?: Record<string, unknown>, rev?: string) =>
  fileProblem(new ParleyError(code, 'in other words', details ? { details } : {}), {
    path: 'a\u202e.ts',
    folder: '/w/app',
    rev,
  })

it('a file that git does not list needs the scope terminal', () => {
  expect(problem('forbidden', { unlisted: 'ignored' })).toMatchObject({ needsTerminal: true })
  expect(problem('forbidden', { unlisted: 'of a later version' })).toMatchObject({ needsTerminal: true })
  expect(problem('forbidden', { scope: 'terminal' })).toMatchObject({ needsTerminal: true })
})

it('a path outside the folders needs another session', () => {
  const { text, needsTerminal } = problem('forbidden', { outside: true })
  expect(text).toMatch(/^a\\u\{202e\}\.ts is outside this session/)
  expect(needsTerminal).toBeUndefined()
})

it('files with the name of a missing file are searched for, except in an earlier version', () => {
  expect(problem('not_found')).toMatchObject({ title: 'No such file', isMissing: true })
  expect(problem('not_found', undefined, 'HEAD').isMissing).toBeUndefined()
  expect(problem('not_found', { rev: 'abc' }, 'abc').text).toMatch('no longer stored')
})

it('a deleted folder is named', () => {
  expect(problem('not_found', { gone: '/w/app' }, 'HEAD')).toMatchObject({ title: 'The folder is gone' })
})

it('any other problem is described by the message of the server', () => {
  expect(problem('too_large')).toEqual({ title: 'This file cannot be shown', text: 'in other words' })
})
