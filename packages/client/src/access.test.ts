import { generateKeyPairSync } from 'node:crypto'
import type { Device } from '@parley/protocol'
import { expect, test } from 'vitest'
import { prompt, type RealServer, startRealServer } from '../testing/real-server.ts'

/** Registers a browser with the code of a link. */
async function signIn(server: RealServer, link: string, name: string): Promise<Device> {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const spki = publicKey.export({ format: 'der', type: 'spki' }).toString('base64url')
  const body = { code: new URL(link).hash.slice(1), publicKey: spki, person: { name } }
  return server.client().call('createDevice', { body })
}

test('an invitation makes a person, whose role can change', async () => {
  await using server = await startRealServer()
  const { access } = server.client()
  expect(await access.me()).toMatchObject({ kind: 'token', person: { role: 'admin', current: true } })
  const { url, inviteId } = await access.invite({ role: 'viewer', name: 'Ana' })
  expect(await access.invites()).toMatchObject([{ inviteId, role: 'viewer', name: 'Ana' }])
  const { personId, deviceId } = await signIn(server, url, 'Ana B.')
  expect(await access.invites()).toEqual([])
  expect(await access.people()).toMatchObject([{ role: 'admin' }, { personId, name: 'Ana B.' }])
  expect(await access.updatePerson(personId, { role: 'member' })).toMatchObject({ role: 'member' })
  expect(await access.devices()).toMatchObject([{ deviceId, personId }])
  await access.revokeDevice(deviceId)
  expect(await access.devices()).toEqual([])

  const second = await access.invite({ role: 'admin' })
  await access.withdrawInvite(second.inviteId)
  await expect(signIn(server, second.url, 'Bo')).rejects.toMatchObject({ code: 'unauthorized' })
})

test('a client with a named token works within its scopes, until the token is revoked', async () => {
  await using server = await startRealServer()
  const { access } = server.client()
  const { token, tokenId } = await access.createToken({ name: 'ci', scopes: ['read'] })
  const ci = server.client({ token })
  expect(await ci.access.me()).toMatchObject({ kind: 'token', id: tokenId, name: 'ci', scopes: ['read'] })
  const id = await server.create()
  await expect(ci.prompt(id, prompt())).rejects.toMatchObject({
    code: 'forbidden',
    details: { scope: 'prompt', scopes: ['read'] },
  })
  expect(await access.tokens()).toMatchObject([{ tokenId, hint: token.slice(-4) }])
  await access.revokeToken(tokenId)
  await expect(ci.access.me()).rejects.toMatchObject({ code: 'unauthorized' })
})
