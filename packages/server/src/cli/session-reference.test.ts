import { expect, it } from 'vitest'
import { shortIds } from './session-reference.ts'

it('shortens ids to their shortest unique prefixes', () => {
  const short = shortIds(['ses_01aaaabbbb', 'ses_01aaaabbbc', 'ses_02', 'ses_03aaaabbbb'], 8)
  expect([...short.values()]).toEqual(['ses_01aaaabbbb', 'ses_01aaaabbbc', 'ses_02', 'ses_03aa'])
})
