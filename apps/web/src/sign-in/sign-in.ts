import { base64url, http, keepDevice } from '../base/device.ts'

/** Creates a private key that no script can read, and registers its public key with the code of a one-time link. */
export async function signIn(code: string): Promise<void> {
  const { publicKey, privateKey } = await crypto.subtle.generateKey(
    { name: 'ECDSA', namedCurve: 'P-256' },
    false,
    ['sign', 'verify'],
  )
  const exported = base64url(await crypto.subtle.exportKey('spki', publicKey))
  const { deviceId } = await http.call('createDevice', { body: { code, publicKey: exported } })
  await keepDevice({ deviceId, key: privateKey })
}
