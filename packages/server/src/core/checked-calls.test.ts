import { expect, it } from 'vitest'
import { CheckedCalls } from './checked-calls.ts'
import type { RecordedOutput } from './record-output.ts'

const call = (toolCallId: string) =>
  ({
    type: 'tool-call.called',
    toolCallId,
    name: 'Bash',
    kind: 'execute',
    title: 'ls',
    input: { command: 'ls' },
  }) as const
const end = (toolCallId: string): RecordedOutput => ({
  type: 'tool-call.ended',
  toolCallId,
  outcome: 'completed',
  content: [],
})

it('adds the hash to one result for each check of the call', () => {
  const calls = new CheckedCalls()
  calls.add('Bash', { command: 'ls' })
  calls.add('Bash', { command: 'ls' })
  const marks = ['a', 'b', 'c'].map((id) => {
    calls.marked(call(id))
    return calls.marked(end(id))
  })
  expect(marks.map((output) => 'checked' in output)).toEqual([true, true, false])
})
