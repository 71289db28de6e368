import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { deepFreeze } from '../testing/deep-freeze.ts'
import { randomDelta, randomLog } from '../testing/random-log.ts'
import { blankView, logOf, numbered, sample } from '../testing/sample-events.ts'
import type { Delta } from './delta.ts'
import { decodeEvent } from './event.ts'
import { applyDelta, applyEvent, applyEvents } from './session-view.ts'

const running = applyEvents(
  blankView,
  logOf([sample('session.created'), sample('prompt.submitted'), sample('turn.started')]),
)
const waiting = applyEvents(running, logOf([sample('permission.requested'), sample('plan.updated')], 4))

describe('the fold of any log', () => {
  const anyView = (log: Parameters<typeof applyEvents>[1], deltas: readonly Delta[]) =>
    deltas.reduce(applyDelta, applyEvents(blankView, log))

  it('has the same result whether events are folded one by one, all at once or in batches', () => {
    fc.assert(
      fc.property(randomLog, fc.nat(40), (log, cut) => {
        const whole = applyEvents(blankView, log)
        expect(log.reduce(applyEvent, blankView)).toEqual(whole)
        expect(applyEvents(applyEvents(blankView, log.slice(0, cut)), log.slice(cut))).toEqual(whole)
      }),
    )
  })

  it('never modifies its arguments', () => {
    fc.assert(
      fc.property(randomLog, fc.array(randomDelta, { maxLength: 10 }), randomLog, (log, deltas, more) => {
        const before = deepFreeze(anyView(log, deltas))
        const text = JSON.stringify(before)
        const later = deepFreeze(more.map((event) => ({ ...event, seq: event.seq + 100 })))
        applyEvents(before, later)
        deltas.reduce(applyDelta, before)
        expect(JSON.stringify(before)).toBe(text)
      }),
    )
  })

  it('ignores an event that it already has', () => {
    fc.assert(
      fc.property(randomLog, fc.array(randomDelta, { maxLength: 10 }), (log, deltas) => {
        const view = anyView(log, deltas)
        expect(applyEvents(view, log)).toBe(view)
      }),
    )
  })

  it('changes only seq and updatedAt for an unknown event type', () => {
    const unknown = { seq: 9, at: 90, sessionId: 'ses_1', type: 'weather.changed', title: 'Storm' }
    const after = applyEvent(deepFreeze(waiting), decodeEvent(unknown))
    expect(after.state).toEqual({ ...waiting.state, seq: 9, updatedAt: 90 })
    expect(after.timeline).toBe(waiting.timeline)
  })

  it('does not read a known type of another version', () => {
    const event = { ...numbered(sample('session.renamed', { title: 'Two' }), 9), version: 2 }
    expect(applyEvent(waiting, event).state.title).toBe('Tidy up')
  })

  it('ignores deltas that only report activity', () => {
    expect(applyDelta(running, { type: 'activity.changed', activity: 'active' })).toBe(running)
  })

  it('shares unchanged parts', () => {
    const { state: before } = waiting
    const { state: after } = applyEvent(waiting, numbered(sample('usage.measured'), 9))
    expect(after.requests).toBe(before.requests)
    expect(after.plan).toBe(before.plan)
    expect(after.turn).toBe(before.turn)
  })
})
