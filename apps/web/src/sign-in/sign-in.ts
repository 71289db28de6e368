import { type Device, deviceName } from '@parley/protocol'
import { accessToken, base64url, http, storeDevice } from '../base/device.ts'
import { isUnreachable } from '../base/error-text.logic.ts'
import { rememberSelf } from '../base/self.ts'

/** True if this browser is signed in. Rejects if the server does not answer. */
export async function isKnownHere(): Promise<boolean> {
  const token = await accessToken().catch((thrown: unknown) => {
    if (isUnreachable(thrown)) throw thrown
  })
  return token !== undefined
}

/** Creates a private key that no script can read, and signs this browser in once `register` has sent its public key. */
export async function signIn(register: (publicKey: string) => Promise<Device>): Promise<void> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }
  const { publicKey, privateKey } = await crypto.subtle.generateKey(algorithm, false, ['sign', 'verify'])
  const spki = await crypto.subtle.exportKey('spki', publicKey)
  const keyId = base64url(await crypto.subtle.digest('SHA-256', spki)).slice(0, 16)
  const device = await register(base64url(spki))
  await storeDevice({ deviceId: device.deviceId, key: privateKey, keyId })
  rememberSelf(device)
}

/** The default name of a browser. */
export const suggestedName = () => deviceName(navigator.userAgent)

type About = {
  /** The name of this browser. The suggested name is not sent: the server may know a name from the pairing. */
  readonly name?: string
  /** The new person. Required with the code of an invitation. */
  readonly person?: { readonly name: string }
}

/** Signs this browser in with the code of a link, of an invitation or of a pairing. */
export async function signInWithCode(code: string, { name, person }: About = {}): Promise<void> {
  const given = name === suggestedName() ? undefined : name
  const about = { code, ...(given && { name: given }), ...(person && { person }) }
  if (isSecureContext)
    return signIn((publicKey) => http.call('createDevice', { body: { ...about, publicKey } }))
  // A page over plain HTTP from another machine has no keys. The server accepts a secret only with --allow-insecure.
  const secret = base64url(crypto.getRandomValues(new Uint8Array(32)).buffer)
  const device = await http.call('createDevice', { body: { ...about, secret } })
  await storeDevice({ deviceId: device.deviceId, secret })
  rememberSelf(device)
}
