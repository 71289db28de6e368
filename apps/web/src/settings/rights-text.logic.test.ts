import { allScopes } from '@parley/protocol'
import { expect, test } from 'vitest'
import { expiryText, limitsText, scopesText } from './rights-text.logic.ts'

test('scopes are listed in their order, and all of them are full access', () => {
  expect(scopesText(['decide', 'read', 'prompt'])).toBe('Scopes: read, prompt, decide')
  expect(scopesText(allScopes)).toBe('Full access')
  expect(scopesText([])).toBe('No access')
})

test('limits name folders, agents and the number of sessions', () => {
  expect(limitsText(undefined)).toBeUndefined()
  expect(limitsText({ folders: [{ folder: '/a' }, { folder: '/b' }], agents: ['demo'] })).toBe(
    'Only in /a, /b, with demo',
  )
  expect(limitsText({ sessions: ['ses_1', 'ses_2'] })).toBe('Only 2 sessions')
})

test('an expiry time is a date, until it has passed', () => {
  expect(expiryText(undefined, 0)).toBeUndefined()
  expect(expiryText(1, 2)).toBe('Expired')
  expect(expiryText(Date.UTC(2030, 0, 15, 12), 0)).toMatch(/^Expires .*2030/)
})
