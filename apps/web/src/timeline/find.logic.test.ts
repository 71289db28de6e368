import type { Block } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { findIn } from './find.logic.ts'
import { segmentsOf } from './nodes.logic.ts'

const call = (id: string, output: string): Block => ({
  id,
  seq: Number(id),
  at: 0,
  turnId: 'a',
  type: 'tool-call',
  name: 'Bash',
  kind: 'execute',
  title: 'run',
  input: { command: 'make' },
  status: 'completed',
  content: [{ type: 'terminal', output }],
})
const segments = segmentsOf(
  [
    { id: '0', seq: 1, at: 0, turnId: 'a', type: 'text', text: 'The Needle is here' },
    call('1', 'x'),
    call('2', 'a needle in the output, and a Needle'),
    call('3', 'y'),
  ],
  undefined,
)

describe('find', () => {
  it('searches collapsed steps and ignores case', () => {
    expect(segments[0]?.nodes.map((node) => node.type)).toEqual(['text', 'group'])
    expect(findIn(segments, 'NEEDLE')).toEqual([
      { key: '0', nth: 0 },
      { key: '2', nth: 0 },
      { key: '2', nth: 1 },
    ])
    expect(findIn(segments, 'make').map(({ key }) => key)).toEqual(['1', '2', '3'])
  })

  it('finds nothing for an empty query', () => {
    expect(findIn(segments, '  ')).toEqual([])
  })
})
