import { describe, expect, it } from 'vitest'
import { matching } from './matching.logic.ts'

const item = (title: string, cwd: string, name: string) => ({
  title,
  cwd,
  agent: { id: name.toLowerCase(), name },
})
const herbs = item('Water the herbs', '/home/me/garden', 'Claude')
const tests = item('Fix the tests', '/home/me/parley', 'Codex')

describe('matching conversations', () => {
  it('contain every word of the query, in any field', () => {
    expect(matching([herbs, tests], 'THE garden')).toEqual([herbs])
    expect(matching([herbs, tests], 'codex fix')).toEqual([tests])
    expect(matching([herbs, tests], 'claude tests')).toEqual([])
    expect(matching([herbs, tests], '  ')).toEqual([herbs, tests])
  })
})
