import { expect, it } from 'vitest'
import { createAccessTokens } from './access-tokens.ts'

const shared = 'the-token-of-all-nodes-0123456789'
const [one, other] = [createAccessTokens(shared), createAccessTokens(shared)]

it('a token of one node is accepted by another, until it expires', () => {
  const token = one.issue('dev_é 1', 1_000, 5_000)
  expect(other.deviceOf(token, 5_999)).toBe('dev_é 1')
  expect(other.deviceOf(token, 6_000)).toBeUndefined()
  expect(token).not.toBe(one.issue('dev_é 1', 1_000, 5_000))
})

it.each([
  ['of a node with another shared token', () => createAccessTokens(`${shared}x`).issue('dev_1', 1_000)],
  ['with another device', () => changed(one.issue('dev_1', 1_000), 1, 'ZGV2XzI')],
  ['with another expiry', () => changed(one.issue('dev_1', 1_000), 2, '9999999999999')],
  ['with another random part', () => changed(one.issue('dev_1', 1_000), 3, 'aaaaaaaaaaaaaaaa')],
  ['without a signature', () => one.issue('dev_1', 1_000).replace(/\.[^.]+$/, '')],
  ['that is the shared token', () => shared],
  ['that is empty', () => ''],
])('a token is refused: one %s', (_, token) => {
  expect(other.deviceOf(token())).toBeUndefined()
})

function changed(token: string, index: number, part: string): string {
  return token.split('.').with(index, part).join('.')
}
