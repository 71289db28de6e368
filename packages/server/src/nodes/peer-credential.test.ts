import { expect, it } from 'vitest'
import { challengeHeader, isNodeUrl, PeerCredential } from './peer-credential.ts'

const token = 'a-token-that-all-nodes-have-0123456789'
const here = 'http://127.0.0.1:4001'
const there = 'http://127.0.0.1:4002'
const node = (url: string, secret = token, number = 7) =>
  new PeerCredential(secret, () => url, { at: () => number, isCurrent: (given) => given >= number })
const bearerOf = (headers: { authorization: string }) => headers.authorization.replace('Bearer ', '')

it('a bearer is accepted by the node that it was made for', () => {
  expect(node(there).accepts(bearerOf(node(here).headersFor(there)))).toBe(true)
  expect(node(`${there}/`).accepts(bearerOf(node(here).headersFor(there)))).toBe(true)
})

it.each([
  ['a node at another address', () => bearerOf(node(here).headersFor(here))],
  ['a sender with another token', () => bearerOf(node(here, 'another-token').headersFor(there))],
  ['a bearer of an hour ago', () => bearerOf(node(here).headersFor(there, Date.now() - 3_600_000))],
  ['a bearer of the future', () => bearerOf(node(here).headersFor(there, Date.now() + 3_600_000))],
  ['a bearer with another time', () => bearerOf(node(here).headersFor(there)).replace(/\.\d/, '.2')],
  ['a bearer for an earlier run of this node', () => bearerOf(node(here, token, 6).headersFor(there))],
  ['a bearer with another number', () => bearerOf(node(here).headersFor(there)).replace('.7.', '.8.')],
  ['the token itself', () => token],
  ['a proof', () => `node.${Date.now()}.${node(there).prove(String(Date.now()))}`],
  ['nothing', () => ''],
])('a bearer is refused: %s', (_, bearer) => {
  expect(node(there).accepts(bearer())).toBe(false)
})

it('a proof is valid only for its node address and its challenge', () => {
  const { [challengeHeader]: challenge } = node(here).headersFor(there)
  const proof = node(there).prove(challenge)
  expect(node(here).isProof(proof, there, challenge)).toBe(true)
  expect(node(here).isProof(proof, here, challenge)).toBe(false)
  expect(node(here).isProof(proof, there, `${challenge}x`)).toBe(false)
  expect(node(here).isProof(node(there, 'another-token').prove(challenge), there, challenge)).toBe(false)
  expect(node(here).isProof(undefined, there, challenge)).toBe(false)
})

it('only an address without a path, a user or a password is the URL of a node', () => {
  for (const url of [here, 'https://node.example', 'http://[::1]:4001/']) expect(isNodeUrl(url)).toBe(true)
  for (const url of ['', 'nonsense', 'ftp://a', 'unix:/tmp/a', `${here}/a`, `${here}?a`, 'http://a:b@c'])
    expect(isNodeUrl(url)).toBe(false)
})
