import type { Block } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { findIn } from './find.logic.ts'
import { readTimeline, segmentsOf } from './nodes.logic.ts'
import { listRows, nodeOfEvent, type Opened, pathTo } from './rows.logic.ts'
import { oldBefore } from './turn.logic.ts'

let seq = 0
const base = (id: string, turnId?: string) => ({ id, seq: ++seq, at: seq, ...(turnId && { turnId }) })
const prompt = (id: string, turnId: string, delivery: 'queue' | 'steer' = 'queue'): Block => ({
  ...base(id, turnId),
  type: 'prompt',
  parts: [{ type: 'text', text: `do ${id}` }],
  delivery,
  status: 'sent',
})
const text = (id: string, turnId?: string): Block => ({
  ...base(id, turnId),
  type: 'text',
  text: `said ${id}`,
})
const edit = (id: string, turnId: string, path: string): Block => ({
  ...base(id, turnId),
  type: 'tool-call',
  name: 'Edit',
  kind: 'edit',
  title: id,
  input: {},
  status: 'completed',
  content: [{ type: 'diff', path, before: 'a', after: 'b' }],
})
const end = (turnId: string): Block => ({
  ...base(`end:${turnId}`, turnId),
  type: 'turn-end',
  end: { outcome: 'completed', stopReason: 'end_turn', durationMs: 5 },
})
const turn = (id: string) => [
  prompt(`p${id}`, id),
  edit(`e${id}`, id, `/src/${id}`),
  text(`x${id}`, id),
  end(id),
]
const opened = (more: Partial<Opened> = {}): Opened => ({ by: new Map(), all: false, turnsFrom: 0, ...more })
const shown = (blocks: readonly Block[], how: Opened, openTurn?: string) =>
  listRows(segmentsOf(blocks, openTurn), how).rows.map((row) =>
    'collapsed' in row ? `[${row.key}]` : row.key,
  )

describe('a turn', () => {
  it('is known by its prompt, its end and the files that its calls changed', () => {
    const [segment] = segmentsOf([...turn('a'), prompt('pb', 'b')], 'b')
    expect(segment?.turn).toMatchObject({
      key: 'turn:a',
      head: { id: 'pa' },
      end: { id: 'end:a' },
      files: ['/src/a'],
    })
  })

  it('that runs has the files changed so far, and no end', () => {
    const [segment] = segmentsOf([prompt('p', 'a'), edit('e', 'a', '/src/a'), prompt('s', 'a', 'steer')], 'a')
    expect(segment?.turn).toMatchObject({ head: { id: 'p' }, end: undefined, files: ['/src/a'] })
  })

  it('that the agent starts by itself is known by its notice', () => {
    const notice = {
      type: 'notice',
      level: 'info',
      code: 'agent_turn',
      text: 'The build has ended.',
    } as const
    const [segment] = segmentsOf([{ ...base('n', 'a'), ...notice }, text('x', 'a'), end('a')], undefined)
    expect(segment?.turn?.head).toMatchObject({ text: 'The build has ended.' })
  })

  it('whose beginning is not loaded has neither a prompt nor files', () => {
    const [segment] = segmentsOf([edit('e', 'a', '/src/a'), prompt('s', 'a', 'steer'), end('a')], undefined)
    expect(segment?.turn).toMatchObject({ head: undefined, files: undefined })
  })

  it('does not include what lies between two turns', () => {
    const segments = segmentsOf([...turn('a'), text('between'), ...turn('b')], undefined)
    expect(segments.map(({ turn: one }) => one?.key)).toEqual(['turn:a', undefined, 'turn:b'])
  })
})

describe('a collapsed turn', () => {
  const blocks = [...turn('a'), ...turn('b'), ...turn('c'), ...turn('d')]

  it('is one row, which has the key of its prompt', () => {
    const by = new Map([['turn:b', false]])
    expect(shown([...turn('a'), ...turn('b')], opened({ by }))).toEqual(['pa', 'ea', 'xa', 'end:a', '[pb]'])
  })

  it('is every old turn except the last two, if wanted, unless the person expanded it', () => {
    const turnsFrom = oldBefore(segmentsOf(blocks, undefined))
    expect(shown(blocks, opened({ turnsFrom })).slice(0, 3)).toEqual(['[pa]', '[pb]', 'pc'])
    const by = new Map([['turn:a', true]])
    expect(shown(blocks, opened({ turnsFrom, by }))).toContain('xa')
  })

  it('is never a turn that runs, or that a rewind took back', () => {
    const back = turn('r').map((block) => ({ ...block, takenBack: 99 }))
    const rows = shown([...back, prompt('p', 'o'), text('x', 'o')], opened({ turnsFrom: 1e6 }), 'o')
    expect(rows).toEqual(['taken-back:pr', 'p', 'x'])
  })

  it('is found, and the path to its rows begins with the turn', () => {
    const segments = segmentsOf(blocks, undefined)
    expect(findIn(segments, 'said xb')).toEqual([{ key: 'xb', nth: 0 }])
    expect(pathTo(segments, 'xb')).toEqual(['turn:b'])
    expect(nodeOfEvent(segments, blocks[4]!.seq)?.key).toBe('pb')
  })

  it('is listed in the same way whether the list is new or continued', () => {
    const how = opened({ by: new Map([['turn:a', false]]) })
    let reading = readTimeline(blocks.slice(0, 6), 'b')
    let list = listRows(reading.segments, how)
    reading = readTimeline(blocks, undefined, reading)
    list = listRows(reading.segments, how, list)
    expect(list.rows).toEqual(listRows(segmentsOf(blocks, undefined), how).rows)
  })
})
