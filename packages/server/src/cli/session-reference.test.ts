import { expect, it } from 'vitest'
import { shortIds, shownIds } from './session-reference.ts'

it('ids are shortened to their shortest unique prefixes', () => {
  const short = shortIds(['ses_01aaaabbbb', 'ses_01aaaabbbc', 'ses_02', 'ses_03aaaabbbb'], 8)
  expect([...short.values()]).toEqual(['ses_01aaaabbbb', 'ses_01aaaabbbc', 'ses_02', 'ses_03aa'])
})

it('short ids are shown on a terminal only', () => {
  const ids = ['tok_01k2aaaabbbb', 'tok_01k2cccc']
  expect(ids.map(shownIds(ids, { isOutTerminal: true }))).toEqual(['tok_01k2aaaa', 'tok_01k2cccc'])
  expect(ids.map(shownIds(ids, { isOutTerminal: false }))).toEqual(ids)
})
