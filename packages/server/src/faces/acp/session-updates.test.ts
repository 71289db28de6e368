import { type AgentInfo, capabilities, type Delta, emptyState, type SessionEvent } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { SessionUpdates } from './session-updates.ts'

const agent: AgentInfo = {
  id: 'any',
  name: 'Any',
  found: true,
  capabilities: capabilities(),
  modes: ['ask'],
}

function anUpdateStream() {
  let seq = 0
  const updates = new SessionUpdates({
    agent,
    state: { ...emptyState('ses_1', 'epo_1'), cwd: '/code' },
    knows: { notices: false, compaction: false },
    isOwn: () => false,
  })
  const event = (fields: object) =>
    updates.event({ seq: ++seq, at: 0, sessionId: 'ses_1', turnId: 'trn_1', ...fields } as SessionEvent)
  return { updates, event, delta: (delta: Delta) => updates.delta(delta) }
}

const piece = (offset: number, text: string): Delta => ({ type: 'text.streamed', blockId: 'b', offset, text })
const printed = (offset: number, text: string): Delta => ({
  type: 'tool-call.output-streamed',
  toolCallId: 'c',
  offset,
  text,
})

describe('a block', () => {
  it('is sent once, even if deltas are missing or repeated', () => {
    const { event, delta } = anUpdateStream()
    const reported = [
      ...delta(piece(0, 'One ')),
      ...delta(piece(0, 'One two ')),
      ...delta(piece(2, 'e ')),
      ...delta(piece(14, 'lost')),
      ...event({ type: 'text.written', blockId: 'b', text: 'One two three lost.' }),
    ]
    const texts = reported.map((update) => (update as { content: { text: string } }).content.text)
    expect(texts).toEqual(['One ', 'two ', 'three lost.'])
  })
})

describe('a call', () => {
  const called = {
    type: 'tool-call.called',
    toolCallId: 'c',
    name: 'Bash',
    kind: 'execute',
    title: 'ls',
    input: {},
  }

  it('is reported as running once it has output; output is sent in batches, and the end of the call at once', () => {
    const { updates, event, delta } = anUpdateStream()
    expect(event(called)).toMatchObject([{ sessionUpdate: 'tool_call', status: 'pending' }])
    expect(delta(printed(0, 'one\n'))).toMatchObject([{ status: 'in_progress' }])
    expect(delta(printed(0, 'one\ntwo\n'))).toEqual([])
    const reported = updates.outputs()
    expect(reported).toMatchObject([{ content: [{ content: { text: '```console\none\ntwo\n```' } }] }])
    expect(updates.outputs()).toEqual([])
    delta(printed(8, 'x'.repeat(20_000)))
    const [longer] = updates.outputs() as { content: { content: { text: string } }[] }[]
    expect(longer?.content[0]?.content.text).toMatch(/^```console\n…x{16000}\n```$/)
    const content = [{ type: 'terminal', output: 'all of it' }]
    expect(event({ type: 'tool-call.ended', toolCallId: 'c', outcome: 'cancelled', content })).toMatchObject([
      { status: 'failed', _meta: { parley: { outcome: 'cancelled' } } },
    ])
    expect(delta(printed(20_008, 'late'))).toEqual([])
    expect(updates.outputs()).toEqual([])
  })

  it('has its output in a fence that is longer than any fence inside it', () => {
    const { event } = anUpdateStream()
    event(called)
    const content = [{ type: 'terminal', output: '```\ncode\n```', exitCode: 0 }]
    expect(event({ type: 'tool-call.ended', toolCallId: 'c', outcome: 'completed', content })).toMatchObject([
      { content: [{ content: { text: '````console\n```\ncode\n```\n````' } }] },
    ])
  })
})
