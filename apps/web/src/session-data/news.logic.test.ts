import { emptyState, type SessionSummary, summarise, type WaitingRequest } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { endedTurns, newRequests, pageTitle, placeName } from './news.logic.ts'

const session = (id: string, status: SessionSummary['status'], seq = 1): SessionSummary => ({
  ...summarise({ ...emptyState(id, 'e'), title: id, seq }),
  status,
})
const waiting = (requestId: string): WaitingRequest => ({
  session: session('s', 'waiting'),
  request: {
    type: 'question',
    requestId,
    at: 0,
    stale: false,
    questions: [{ id: 'q', header: 'h', text: 'Which?', options: [], multiple: false, freeText: true }],
  },
})

describe('notifications', () => {
  it('report a new request, but none that was open when the page loaded', () => {
    expect(newRequests(undefined, [waiting('a')])).toEqual([])
    const news = newRequests(new Set(['a']), [waiting('a'), waiting('b')])
    expect(news).toEqual([{ key: 'b', sessionId: 's', title: 's needs your answer', text: 'Which?' }])
  })

  it('report a turn that ended while the page was open', () => {
    const before = new Map([
      ['a', session('a', 'working')],
      ['b', session('b', 'idle')],
    ])
    const after = [session('a', 'idle', 9), session('b', 'idle'), session('new', 'idle')]
    expect(endedTurns(before, after).map(({ key }) => key)).toEqual(['end:a:9'])
    expect(endedTurns(undefined, after)).toEqual([])
    expect(endedTurns(before, [session('a', 'waiting')])).toEqual([])
  })

  it('report that a turn failed, and why', () => {
    const before = new Map([['a', session('a', 'working')]])
    const reported = (failure: SessionSummary['failure']) =>
      endedTurns(before, [{ ...session('a', 'idle'), ...(failure && { failure }) }])[0]?.text
    expect(reported(undefined)).toBe('Turn finished.')
    expect(reported({ outcome: 'unknown' })).toBe('Interrupted.')
    expect(reported({ outcome: 'failed', code: 'agent_failed', message: 'No tokens left' })).toBe(
      'Failed: No tokens left',
    )
  })

  it('names the page in the tab title', () => {
    expect(placeName({ name: 'inbox' }, undefined)).toBe('Inbox')
    expect(placeName({ name: 'settings', section: 'keys' }, undefined)).toBe('Settings')
    expect(placeName({ name: 'session', id: 's' }, 'Fix it')).toBe('Fix it')
    expect(placeName({ name: 'session', id: 's' }, 'a\u202eb')).toBe('a\\u{202e}b')
    expect(placeName({ name: 'home' }, undefined)).toBe('')
  })

  it('shows the number of open requests in the tab title', () => {
    expect([pageTitle(0, ''), pageTitle(2, 'Fix it')]).toEqual(['Parley', '(2) Fix it · Parley'])
  })
})
