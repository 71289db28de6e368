import type { Block, BlockOf } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { turnTime } from '../base/format.logic.ts'
import { type Node, segmentsOf } from './nodes.logic.ts'
import { groupSummary, listRows, nodeOfEvent, type Opened, pathTo, writingRows } from './rows.logic.ts'

const rowsOf = (segments: Parameters<typeof listRows>[0], opened: Opened) => listRows(segments, opened).rows

let seq = 0
const base = (turnId?: string) => ({ seq: ++seq, at: seq * 1000, ...(turnId && { turnId }) })
const prompt = (id: string, turnId: string | undefined, more: Partial<BlockOf<'prompt'>> = {}): Block => ({
  ...base(turnId),
  id,
  type: 'prompt',
  parts: [{ type: 'text', text: id }],
  delivery: 'queue',
  status: 'sent',
  ...more,
})
const text = (id: string, turnId: string): Block => ({ ...base(turnId), id, type: 'text', text: id })
const call = (
  id: string,
  turnId: string,
  more: Partial<BlockOf<'tool-call'>> = {},
): BlockOf<'tool-call'> => ({
  ...base(turnId),
  id,
  type: 'tool-call',
  name: 'Read',
  kind: 'read',
  title: id,
  input: {},
  status: 'completed',
  content: [],
  ...more,
})
const end = (turnId: string): Block => ({
  ...base(turnId),
  id: `end:${turnId}`,
  type: 'turn-end',
  end: { outcome: 'completed', stopReason: 'end', durationMs: 5 },
})
const asked = (id: string, toolCallId: string, at: number, resolvedAt?: number): Block => ({
  ...base('t1'),
  id,
  type: 'permission',
  at,
  request: {
    requestId: id,
    toolCallId,
    tool: 'Bash',
    kind: 'execute',
    title: id,
    input: {},
    inputHash: 'hash',
    readOnly: false,
    options: [],
  },
  ...(resolvedAt !== undefined && { resolvedAt }),
})
const closed: Opened = { by: new Map(), all: false, turnsFrom: 0 }
const keys = (nodes: readonly Node[]) => nodes.map((node) => node.key)
const allKeys = (blocks: Block[], openTurn?: string) =>
  segmentsOf(blocks, openTurn).flatMap((segment) => keys(segment.nodes))

describe('the timeline in reading order', () => {
  it('puts a queued prompt above the turn it started', () => {
    const blocks = [
      prompt('one', 'a'),
      text('x', 'a'),
      prompt('two', 'b'),
      text('y', 'a'),
      end('a'),
      text('z', 'b'),
    ]
    expect(allKeys(blocks)).toEqual(['one', 'x', 'y', 'end:a', 'two', 'z'])
  })

  it('does not misplace a queued prompt after a withdrawn one, and keeps the running turn in one segment', () => {
    const blocks = [
      prompt('one', 'a'),
      call('c', 'a', { kind: 'execute', status: 'running' }),
      prompt('A', undefined, { status: 'withdrawn' }),
      prompt('B', 'b'),
      { ...asked('r', 'c', 0), turnId: 'a' },
      prompt('steer', 'a', { delivery: 'steer' }),
      end('a'),
      text('answer', 'b'),
      end('b'),
    ]
    expect(allKeys(blocks)).toEqual(['one', 'c', 'A', 'steer', 'end:a', 'B', 'answer', 'end:b'])
    expect(segmentsOf(blocks, undefined).map(({ turnId }) => turnId)).toEqual(['a', 'b'])
  })

  it('shows only once why an agent was lost', () => {
    const lost = (id: string, words: string, turnId?: string): Block => ({
      ...base(turnId ?? ''),
      turnId,
      id,
      type: 'notice',
      level: 'error',
      code: 'agent_disconnected',
      text: words,
    })
    const error = { code: 'agent_failed' as const, message: 'Sign in.' }
    const failed = {
      ...end('a'),
      end: { outcome: 'failed', stopReason: 'lost', durationMs: 5, error },
    } as Block
    const blocks = [lost('ahead', 'Sign in.'), prompt('one', 'a'), lost('in', 'Sign in.', 'a'), failed]
    expect(allKeys(blocks)).toEqual(['one', 'end:a'])
    const reported = { ...lost('told', 'Sign in.', 'a'), code: 'model_error' } as Block
    expect(allKeys([prompt('one', 'a'), reported, failed])).toEqual(['one', 'end:a'])
    expect(allKeys([{ ...reported, turnId: 'before' }, prompt('one', 'a'), failed])).toContain('told')
    expect(allKeys([lost('other', 'Crashed.'), prompt('one', 'a'), failed])).toEqual([
      'other',
      'one',
      'end:a',
    ])
  })

  it('shows a prompt whose turn has no output yet', () => {
    const blocks = [prompt('one', 'a'), text('x', 'a'), prompt('two', 'b'), end('a')]
    expect(allKeys(blocks, 'b')).toEqual(['one', 'x', 'end:a', 'two'])
  })

  it('leaves queued prompts to the queue, and keeps steered prompts in their place', () => {
    const blocks = [
      prompt('one', 'a'),
      text('x', 'a'),
      prompt('later', undefined, { status: 'queued' }),
      prompt('steer', 'a', { delivery: 'steer' }),
      text('y', 'a'),
    ]
    expect(allKeys(blocks, 'a')).toEqual(['one', 'x', 'steer', 'y'])
  })

  it('groups quiet steps, except for the last ones of an open turn', () => {
    const calls = ['1', '2', '3', '4', '5', '6'].map((id) => call(id, 'a'))
    expect(allKeys([prompt('p', 'a'), ...calls], 'a')).toEqual(['p', 'group:1', '5', '6'])
    expect(allKeys([prompt('p', 'a'), ...calls, end('a')])).toEqual(['p', 'group:6', 'end:a'])
  })

  it('groups a turn of forty calls into one line, but never a failed call', () => {
    const calls = Array.from({ length: 40 }, (_, index) => call(`c${index}`, 'a'))
    expect(rowsOf(segmentsOf([...calls, end('a')], undefined), closed)).toHaveLength(2)
    const broken = calls.map((one, index) => (index === 20 ? call('bad', 'a', { status: 'failed' }) : one))
    const rows = rowsOf(segmentsOf([...broken, end('a')], undefined), closed)
    expect(rows.map((row) => row.key)).toEqual(['group:c19', 'bad', 'group:c39', 'end:a'])
    expect(rows.find((row) => row.key === 'bad')?.open).toBe(true)
  })

  it('keeps the key of a group when older pages are loaded, and keeps it expanded when its turn ends', () => {
    const calls = ['1', '2', '3', '4', '5', '6'].map((id) => call(id, 'a'))
    const whole = [...calls, end('a')]
    const keysFrom = (from: number) =>
      rowsOf(segmentsOf(whole.slice(from), undefined), closed).map((row) => row.key)
    expect(keysFrom(0)).toEqual(keysFrom(3))
    const opened: Opened = { by: new Map([['group:1', true]]), all: false, turnsFrom: 0 }
    expect(rowsOf(segmentsOf(whole, undefined), opened)[0]?.open).toBe(true)
  })

  it('nests the blocks of a subagent under its call, and puts a request beside its call', () => {
    const blocks: Block[] = [
      call('sub', 'a', { kind: 'subagent', status: 'running' }),
      call('inner', 'a', { parentToolCallId: 'sub', status: 'running' }),
      {
        ...base('a'),
        id: 'req',
        type: 'permission',
        request: {
          requestId: 'req',
          toolCallId: 'inner',
          parentToolCallId: 'sub',
          tool: 'Bash',
          kind: 'execute',
          title: 't',
          input: {},
          inputHash: '',
          readOnly: false,
          options: [],
        },
      },
    ]
    const segments = segmentsOf(blocks, 'a')
    const rows = rowsOf(segments, closed)
    expect(rows.map((row) => [row.key, row.depth])).toEqual([
      ['sub', 0],
      ['inner', 1],
    ])
    const inner = rows[1]
    expect(inner && 'node' in inner && inner.node.type === 'call' && inner.node.request?.id).toBe('req')
    expect(pathTo(segments, 'inner')).toEqual(['sub'])
    expect(pathTo(segments, 'nowhere')).toBeUndefined()
  })

  it("shows calls that are each other's parents", () => {
    const blocks = [call('a', 't', { parentToolCallId: 'b' }), call('b', 't', { parentToolCallId: 'a' })]
    const all: Opened = { by: new Map(), all: true, turnsFrom: 0 }
    expect(rowsOf(segmentsOf(blocks, undefined), all).map((row) => row.key)).toEqual(['a', 'b'])
  })

  it('gives every row a unique key', () => {
    const rows = rowsOf(segmentsOf([text('same', 'a'), end('a'), text('same', 'b')], undefined), closed)
    expect(new Set(rows.map((row) => row.key)).size).toBe(3)
  })

  it('summarizes a group of steps', () => {
    const calls = [
      call('1', 'a'),
      call('2', 'a'),
      call('3', 'a', { kind: 'execute' }),
      call('4', 'a', { kind: 'other' }),
    ]
    const [group] = segmentsOf([...calls, end('a')], undefined)[0]?.nodes ?? []
    expect(group?.type === 'group' && groupSummary(group)).toBe('Read 2 files, ran a command, used a tool')
  })

  it('counts the questions of a group of steps', () => {
    const question = { id: 'q', header: 'Q', text: 'Which?', options: [], multiple: false, freeText: true }
    const request = { requestId: 'req', toolCallId: '2', questions: [question, { ...question, id: 'r' }] }
    const [group] =
      segmentsOf(
        [
          call('1', 'a'),
          call('3', 'a'),
          call('2', 'a', { kind: 'other' }),
          { ...base('a'), id: 'req', type: 'question', request, resolvedAt: 1 },
          end('a'),
        ],
        undefined,
      )[0]?.nodes ?? []
    expect(group?.type === 'group' && groupSummary(group)).toBe('Read 2 files, asked 2 questions')
  })

  it('shows an open block once, at the end', () => {
    const rows = rowsOf(segmentsOf([prompt('p', 'a'), text('done', 'a')], 'a'), closed)
    const open = [
      { type: 'text' as const, id: 'done', text: 'done' },
      { type: 'text' as const, id: 'new', text: 'n' },
      { type: 'tool-call' as const, id: 'c', name: 'Read', called: true, input: '', output: '' },
    ]
    expect(writingRows(open, rows, closed).map((row) => row.key)).toEqual(['new'])
  })

  it('adds up how long a call waited for people, without counting overlaps twice', () => {
    const waited = (...blocks: Block[]) => {
      const [node] = segmentsOf([call('c', 't1', { at: 0 }), ...blocks], 't1')[0]?.nodes ?? []
      return node?.type === 'call' && node.waited
    }
    expect(waited()).toBe(0)
    expect(waited(asked('r1', 'c', 1000))).toBe(0)
    expect(waited(asked('r1', 'c', 1000, 61_000))).toBe(60_000)
    expect(waited(asked('r1', 'c', 1000, 61_000), asked('r2', 'c', 70_000, 75_000))).toBe(65_000)
    expect(waited(asked('r1', 'c', 1000, 900))).toBe(0)
    expect(waited(asked('r1', 'c', 1000, 5000), asked('r2', 'c', 3000, 8000))).toBe(7000)
  })

  it('adds up how long a turn waited for people, whatever the requests were about', () => {
    const blocks = [call('c', 't1'), asked('r1', 'c', 2000, 5000), asked('r2', 'gone', 4000, 9000)]
    const last = {
      ...end('t1'),
      at: 10_000,
      end: { outcome: 'completed', stopReason: 'end', durationMs: 9000 },
    }
    const node = segmentsOf([...blocks, last as Block], undefined)[0]?.nodes.at(-1)
    expect(node?.type === 'end' && node.waited).toBe(7000)
  })

  it('formats how long a turn worked, and how long it waited if that was at least a second', () => {
    expect(turnTime(463_000, 462_000)).toBe('1.0 s, 7 min 42 s waiting for you')
    expect(turnTime(5000, 900)).toBe('4.1 s')
    expect(turnTime(5000, 0)).toBe('5.0 s')
    expect(turnTime(5, 2000)).toBe('0 ms, 2.0 s waiting for you')
  })
})

describe('the node of an event', () => {
  it('is the one that shows its text, inside a group and for the request of a call', () => {
    const calls = ['c1', 'c2', 'c3'].map((id, at) => call(id, 't1', { endedSeq: 900 + at }))
    const request = { ...asked('r1', 'c2', 5), resolvedSeq: 950 } as Block
    const segments = segmentsOf([prompt('p1', 't1'), ...calls, request, end('t1')], undefined)
    const keyAt = (seq: number) => nodeOfEvent(segments, seq)?.key
    expect(segments[0]?.nodes.map(({ type }) => type)).toContain('group')
    expect(keyAt(calls[1]!.seq)).toBe('c2')
    expect(keyAt(902)).toBe('c3')
    expect(keyAt(request.seq)).toBe('c2')
    expect(keyAt(950)).toBe('c2')
    expect(keyAt(999)).toBeUndefined()
  })
})
