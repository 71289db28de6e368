import { NewToken } from '@parley/protocol'
import { expect, test } from 'vitest'
import { emptyToken, tokenOf } from './token-form.logic.ts'

test('a form becomes a token with its limits and its lifetime', () => {
  const read = tokenOf({
    ...emptyToken,
    name: ' ci ',
    scopes: ['read', 'prompt'],
    folders: '~/app\n\n /srv/site \n',
    agents: ['demo'],
  })
  const body = {
    name: 'ci',
    scopes: ['read', 'prompt'],
    limits: { folders: [{ folder: '~/app' }, { folder: '/srv/site' }], agents: ['demo'] },
    lifetimeMs: 30 * 86_400_000,
  }
  expect(read).toEqual({ body })
  expect(NewToken.safeParse(body).success).toBe(true)
})

test('a token without limits may have every scope and no expiry', () => {
  expect(tokenOf({ ...emptyToken, name: 'x', scopes: ['admin'], days: '' })).toEqual({
    body: { name: 'x', scopes: ['admin'] },
  })
})

test.each([
  [{ name: ' ' }, 'Enter a name'],
  [{ name: 'x', scopes: [] }, 'Choose at least one scope'],
  [
    { name: 'x', scopes: ['read', 'terminal'] as const, folders: '/a' },
    'The scope terminal cannot be limited',
  ],
])('%j is refused', (change, words) => {
  expect(tokenOf({ ...emptyToken, ...change })).toEqual({ problem: expect.stringContaining(words) })
})
