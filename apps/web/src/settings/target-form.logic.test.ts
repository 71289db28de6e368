import { expect, it } from 'vitest'
import { alertsOf, allAlerts, choiceOf, emptyTarget, targetOf } from './target-form.logic.ts'

it.each(['all', 'requests'] as const)('the choice %s is found again from its kinds of alerts', (choice) => {
  expect(choiceOf({ alerts: alertsOf(choice) })).toBe(choice)
})

it('other kinds of alerts are neither choice', () => {
  expect(choiceOf({ alerts: ['turn.failed'] })).toBe('some')
  expect(choiceOf({ alerts: [...allAlerts].reverse() })).toBe('all')
})

it('a form becomes a webhook or an ntfy topic, without what was left empty', () => {
  expect(targetOf({ ...emptyTarget, url: ' https://a.example/x ' })).toEqual({
    body: { kind: 'webhook', url: 'https://a.example/x' },
  })
  expect(targetOf({ kind: 'ntfy', url: 'https://ntfy.sh/t', name: 'phone', token: 'tk' })).toEqual({
    body: { kind: 'ntfy', url: 'https://ntfy.sh/t', name: 'phone', token: 'tk' },
  })
})

it('an address that is none is a problem', () => {
  expect(targetOf({ ...emptyTarget, url: 'example' })).toEqual({
    problem: expect.stringContaining('https://'),
  })
})
