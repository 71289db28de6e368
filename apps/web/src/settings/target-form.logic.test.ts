import { expect, it } from 'vitest'
import { alertsOf, allAlerts, choiceOf, emptyTarget, targetOf } from './target-form.logic.ts'

it.each(['all', 'requests'] as const)('the choice %s is recognised from its kinds of alerts', (choice) => {
  expect(choiceOf({ alerts: alertsOf(choice) })).toBe(choice)
})

it('kinds of alerts in any order are a choice, and other kinds are none', () => {
  expect(choiceOf({ alerts: ['turn.failed'] })).toBe('some')
  expect(choiceOf({ alerts: [...allAlerts].reverse() })).toBe('all')
})

it('a form becomes a webhook or an ntfy topic, without the fields that were left empty', () => {
  expect(targetOf({ ...emptyTarget, url: ' https://a.example/x ' })).toEqual({
    body: { kind: 'webhook', url: 'https://a.example/x' },
  })
  expect(targetOf({ kind: 'ntfy', url: 'https://ntfy.sh/t', name: 'phone', token: 'tk' })).toEqual({
    body: { kind: 'ntfy', url: 'https://ntfy.sh/t', name: 'phone', token: 'tk' },
  })
})

it('an invalid address is reported', () => {
  expect(targetOf({ ...emptyTarget, url: 'example' })).toEqual({
    problem: expect.stringContaining('https://'),
  })
})
