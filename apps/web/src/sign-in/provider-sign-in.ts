import type { Device } from '@parley/protocol'
import { http } from '../base/device.ts'

/** The storage key of the secret, which proves that the tab that finishes a sign-in has started it. */
const storedAs = 'parley:oidc'

type Started = { readonly state: string; readonly secret: string }

/** The name of the provider. Undefined if the server has none. */
export async function providerName(): Promise<string | undefined> {
  return (await http.call('getSignIn')).oidc?.name
}

/** Opens the page of the provider. `code` is the code of an invitation or of a one-time link. */
export async function startAtProvider(code?: string): Promise<void> {
  const { url, state, secret } = await http.call('startOidc', { body: code ? { code } : {} })
  sessionStorage.setItem(storedAs, JSON.stringify({ state, secret } satisfies Started))
  location.assign(url)
}

/** Registers the public key with the answer of the provider, which is in the address of the page. */
export async function finishAtProvider(answer: string, publicKey: string): Promise<Device> {
  const started = JSON.parse(sessionStorage.getItem(storedAs) ?? '{}') as Partial<Started>
  sessionStorage.removeItem(storedAs)
  const { state = '-', secret = '-' } = started
  return http.call('finishOidc', { body: { state, secret, answer, publicKey } })
}
