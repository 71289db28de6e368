import type { Changes, Compared } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { comparedText, comparisonNotes, emptyText } from './compared-text.logic.ts'

const now = new Date(2026, 4, 1, 15, 0).getTime()
const at = (hour: number, minute: number) => new Date(2026, 4, 1, hour, minute).getTime()
const time = (hour: number, minute: number) =>
  new Date(at(hour, minute)).toLocaleTimeString(undefined, { hour: 'numeric', minute: '2-digit' })
const compared = (given: Partial<Compared>): Compared => ({ scope: 'turn', from: {}, to: {}, ...given })
const changes = (given: Partial<Compared>, more: Partial<Changes> = {}): Changes => ({
  base: 'abcdef0123456789',
  branch: 'topic',
  files: [],
  cut: false,
  ...more,
  compared: compared(given),
})

describe('the sentence on what is compared', () => {
  it('names both moments of a turn, and only the first one while it runs', () => {
    const from = { tree: 'a', at: at(14, 3) }
    const ended = changes({ turnId: 'trn_1', from, to: { tree: 'b', at: at(14, 5) } })
    expect(comparedText(ended, now)).toBe(`What the turn changed from ${time(14, 3)} to ${time(14, 5)}.`)
    const running = changes({ turnId: 'trn_1', from, to: { now: true } })
    expect(comparedText(running, now)).toBe(`What the turn has changed since its start at ${time(14, 3)}.`)
    expect(comparedText(changes({}), now)).toBe('This session has no turn yet.')
  })

  it('names the commit and the branch', () => {
    const from = { commit: 'abcdef0123456789' }
    expect(comparedText(changes({ scope: 'commit', from }), now)).toBe(
      'Everything that is not committed since abcdef01 on topic.',
    )
    expect(comparedText(changes({ scope: 'commit' }, { base: '' }), now)).toContain('no commit yet')
    expect(comparedText(changes({ scope: 'base', branch: 'main', from }), now)).toBe(
      'Everything since topic left main at abcdef01, committed or not.',
    )
  })

  it('comes with a note on everything that makes the comparison inexact', () => {
    const leftOut = [
      { path: 'big.bin', reason: 'large' },
      { path: 'inner', reason: 'repository' },
    ]
    const from = { tree: 'a', at: now }
    expect(comparisonNotes(compared({ turnId: 't', from, shared: true, marked: 'late', leftOut }))).toEqual([
      expect.stringContaining('before the snapshot was complete'),
      expect.stringContaining('Another session worked'),
      'Not compared: big.bin (over 10 MB), inner (another repository).',
    ])
    const nothing = changes({ turnId: 't', marked: 'missing' })
    expect(comparisonNotes(nothing.compared!)).toEqual([])
    expect(comparedText(nothing, now)).toContain('no snapshot from the start of this turn')
    expect(emptyText(nothing)).toBeUndefined()
    expect(emptyText(changes({ turnId: 't', from }))).toBe('No changes in this turn.')
    expect(comparisonNotes(compared({ turnId: 't', from, marked: 'missing' }))).toEqual([
      expect.stringContaining('The next one is shown instead'),
    ])
    expect(comparisonNotes(compared({ turnId: 't', from }))).toEqual([])
    expect(comparisonNotes(compared({ marked: 'missing' }))).toEqual([])
  })
})
