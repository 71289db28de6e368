import { createPublicKey, verify } from 'node:crypto'
import { expect, it } from 'vitest'
import {
  checkSubscriptionKeys,
  encryptPush,
  longestMessage,
  newPushKey,
  pushAuthorization,
  pushKeyOf,
} from './web-push.ts'

// The example of RFC 8291, section 5 and appendix A.
const example = {
  message: 'When I grow up, I want to be a watermelon',
  auth: 'BTBZMqHH6r4Tts7J_aSIgg',
  p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
  salt: 'DGv6ra1nlYgDCS1FRnbzlw',
  senderKey: 'yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw',
  body: 'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
}

it('encrypts the example of RFC 8291 to the body that the RFC gives', () => {
  const { p256dh, auth, salt, senderKey } = example
  const seed = { salt: Buffer.from(salt, 'base64url'), privateKey: Buffer.from(senderKey, 'base64url') }
  const body = encryptPush(Buffer.from(example.message), { p256dh, auth }, seed)
  expect(body.toString('base64url')).toBe(example.body)
})

it('encrypts each message with a new key and salt, into at most 4096 bytes', () => {
  const message = Buffer.alloc(longestMessage, 'a')
  const [first, second] = [encryptPush(message, example), encryptPush(message, example)]
  expect(first?.length).toBe(4096)
  expect(first?.subarray(0, 16)).not.toEqual(second?.subarray(0, 16))
  expect(first?.subarray(21, 86)).not.toEqual(second?.subarray(21, 86))
})

it('signs the identity of the sender, for one push service and at most a day (RFC 8292)', () => {
  const key = pushKeyOf(newPushKey())
  const now = Date.UTC(2026, 0, 1)
  const endpoint = 'https://push.example.net/send/1?a=b'
  const header = pushAuthorization(key, { endpoint, contact: 'mailto:me@example.org', now })
  const [, token = '', publicKey] = /^vapid t=(\S+), k=(\S+)$/.exec(header) ?? []
  expect(publicKey).toBe(key.publicKey)
  const [head = '', claims = '', signature = ''] = token.split('.')
  const point = Buffer.from(key.publicKey, 'base64url')
  expect([point.length, point[0]]).toEqual([65, 4])
  const [x = '', y = ''] = [point.subarray(1, 33), point.subarray(33)].map((part) =>
    part.toString('base64url'),
  )
  const jwk = { kty: 'EC', crv: 'P-256', x, y }
  const verifier = createPublicKey({ key: jwk, format: 'jwk' })
  const bytes = Buffer.from(signature, 'base64url')
  expect(
    verify('sha256', Buffer.from(`${head}.${claims}`), { key: verifier, dsaEncoding: 'ieee-p1363' }, bytes),
  ).toBe(true)
  expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toEqual({
    aud: 'https://push.example.net',
    exp: now / 1000 + 12 * 3600,
    sub: 'mailto:me@example.org',
  })
})

it.each([
  ['a point that is not on the curve', `B${'A'.repeat(86)}`, example.auth],
  ['a short authentication secret', example.p256dh, 'BTBZMqHH6r4Tts7J_aSI'],
  ['a key of another length', example.p256dh.slice(0, 40), example.auth],
])('refuses %s', (_, p256dh, auth) => {
  expect(() => checkSubscriptionKeys({ p256dh, auth })).toThrow(/keys of the push subscription/)
})
