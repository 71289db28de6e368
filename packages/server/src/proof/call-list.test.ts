import type { SessionEvent } from '@parley/protocol'
import { expect, it } from 'vitest'
import { CallList } from './call-list.ts'

const connected = { type: 'agent.connected', connectionId: 'con_1', cwd: '/' }
const disconnected = { type: 'agent.disconnected', reason: 'server-killed' }
const called = { type: 'tool-call.called', toolCallId: 'call', name: 'Write', kind: 'edit', input: {} }
const failed = { type: 'tool-call.ended', toolCallId: 'call', outcome: 'failed', content: [] }
const request = { type: 'permission.requested', requestId: 'req', toolCallId: 'call', inputHash: 'hash' }
const allowed = { type: 'permission.resolved', requestId: 'req', outcome: 'allowed', by: 'person' }

function listOf(...events: object[]) {
  const list = new CallList()
  events.forEach((event, index) => {
    list.take({ seq: index + 1, ...event } as SessionEvent)
  })
  return list.list
}

it('a call whose agent was lost before a decision is not listed, because nobody knows whether it ran', () => {
  expect(listOf(connected, called, disconnected, failed)).toEqual([])
})

it('a call that was allowed before its agent was lost is listed with an unknown outcome', () => {
  expect(listOf(connected, called, request, allowed, disconnected, failed)).toMatchObject([
    { outcome: 'unknown', by: 'person', requestId: 'req' },
  ])
})

it('a call that the agent reports as failed, without a decision, has run', () => {
  expect(listOf(connected, called, failed)).toMatchObject([{ outcome: 'failed', by: 'nobody' }])
  expect(listOf(connected, disconnected, connected, called, failed)).toMatchObject([{ by: 'nobody' }])
})
