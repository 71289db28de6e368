import { describe, expect, it } from 'vitest'
import { numbered, sample, samples } from '../testing/sample-events.ts'
import { decodeEvent, draftProblem, eventTypes, isKnown } from './event.ts'

const everySample = Object.values(samples).map((draft) => [draft.type, numbered(draft, 7)] as const)
const envelope = { seq: 3, at: 30, sessionId: 'ses_1' }

describe('the event types', () => {
  it.each([
    'session.created session.configured session.renamed session.archived session.unarchived session.forked session.handed-over',
    'agent.connected agent.disconnected agent.noticed agent.unrecognised',
    'prompt.submitted prompt.queued prompt.withdrawn prompt.moved',
    'queue.paused queue.resumed',
    'turn.started turn.ended',
    'text.written thinking.written block.retracted',
    'tool-call.called tool-call.updated tool-call.ended',
    'permission.requested permission.resolved question.asked question.resolved',
    'plan.updated task.updated usage.measured context.compacted',
  ])('include the family %s', (family) => {
    expect(family.split(' ').filter((type) => !eventTypes.has(type))).toEqual([])
  })

  it('each consist of a noun and a participle', () => {
    expect([...eventTypes].filter((type) => !/^[a-z]+(-[a-z]+)?\.[a-z]+(-[a-z]+)?$/.test(type))).toEqual([])
  })
})

describe('decodeEvent, given a known type', () => {
  it.each(everySample)('returns %s unchanged', (_, event) => {
    const text = JSON.stringify(event)
    expect(decodeEvent(JSON.parse(text))).toEqual(event)
    expect(isKnown(event)).toBe(true)
  })

  it.each(everySample)('keeps fields of %s that a newer build added', (_, event) => {
    const newer = { ...event, mood: { calm: true } }
    expect(decodeEvent(newer)).toEqual(newer)
  })

  it('accepts version 1 of a type', () => {
    const event = { ...numbered(sample('text.written'), 1), version: 1 as const }
    expect(decodeEvent(event)).toEqual(event)
    expect(isKnown(event)).toBe(true)
  })

  it.each([
    ['a missing field', { type: 'text.written', blockId: 'blk_1' }],
    ['a field of another type', { type: 'text.written', blockId: 'blk_1', text: 5 }],
    ['an empty id', { type: 'text.written', blockId: '', text: 'x' }],
    ['a value outside its list', { ...samples['turn.ended'], outcome: 'great' }],
    ['a wrong element', { ...samples['prompt.submitted'], parts: [{ type: 'smell' }] }],
    ['a wrong field in a nested object', { ...samples['usage.measured'], context: { used: -1 } }],
    ['a question event without questions', { ...samples['question.asked'], questions: [] }],
  ])('refuses %s', (_, fields) => {
    expect(() => decodeEvent({ ...envelope, ...fields })).toThrow()
  })
})

describe('decodeEvent, given an unknown type or version', () => {
  const unknowns = [
    { ...envelope, type: 'weather.changed', wind: { from: 'north', force: [3, 4] }, calm: null },
    { ...envelope, turnId: 'trn_1', type: 'text.written', version: 2, pieces: ['a', 'b'] },
    { ...envelope, type: 'constructor' },
    { ...envelope, type: '' },
  ]

  it.each(unknowns)('keeps $type version $version whole', (event) => {
    const decoded = decodeEvent(event)
    expect(decoded).toEqual(event)
    expect(isKnown(decoded)).toBe(false)
  })

  it('does not check the fields of another version', () => {
    const event = { ...envelope, type: 'text.written', version: 2, blockId: 5, text: null }
    expect(decodeEvent(event)).toEqual(event)
  })
})

describe('decodeEvent, given something that is not an event', () => {
  it.each([
    ['undefined', undefined],
    ['a string', 'text.written'],
    ['an array', [envelope]],
    ['no type', envelope],
    ['no seq', { at: 1, sessionId: 's', type: 'x' }],
    ['seq 0', { ...envelope, seq: 0, type: 'x' }],
    ['a fractional seq', { ...envelope, seq: 1.5, type: 'x' }],
    ['no time', { seq: 1, sessionId: 's', type: 'x' }],
    ['no session', { seq: 1, at: 1, type: 'x' }],
    ['a version that is a string', { ...envelope, type: 'x', version: 'two' }],
  ])('refuses %s', (_, value) => {
    expect(() => decodeEvent(value)).toThrow()
  })
})

describe('draftProblem', () => {
  it.each(Object.values(samples))('accepts a valid $type', (draft) => {
    expect(draftProblem(draft)).toBeUndefined()
  })

  it('names the invalid field', () => {
    expect(draftProblem({ ...sample('text.written'), text: 5 } as never)?.issues[0]?.path).toEqual(['text'])
  })

  it('refuses an unknown type', () => {
    expect(draftProblem({ type: 'weather.changed' })?.issues[0]?.path).toEqual(['type'])
    expect(draftProblem({ type: 'toString' })?.issues[0]?.path).toEqual(['type'])
  })

  it('refuses a version that this build does not write', () => {
    expect(draftProblem({ ...sample('text.written'), version: 2 } as never)?.issues[0]?.path).toEqual([
      'version',
    ])
  })
})
