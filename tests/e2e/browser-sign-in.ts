import type { Page } from 'playwright-core'

/** A server that tests sign in at. `newLink` creates a one-time link. */
export type SignInServer = { readonly url: string; newLink(): Promise<string> }

/**
 * Signs the browser context of a page in. Signs in like the console with a one-time link (apps/web/src/sign-in), without
 * loading the console: a load takes most of the time of a short test.
 */
export async function signIn(page: Page, server: SignInServer): Promise<void> {
  const code = new URL(await server.newLink()).hash.slice(1)
  await page.goto(`${server.url}/api/health`)
  const publicKey = await page.evaluate(createKey)
  // The test sends the request, because the content security policy of this address forbids requests of the page.
  const data = { code, publicKey }
  const response = await page.request.post(`${server.url}/api/devices`, { data })
  if (!response.ok()) throw new Error(`Signing in: ${response.status()} ${await response.text()}`)
  const { deviceId } = (await response.json()) as { deviceId: string }
  await page.evaluate(storeDevice, deviceId)
}

/** Runs in the page. */
async function createKey(): Promise<string> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }
  const pair = await crypto.subtle.generateKey(algorithm, false, ['sign', 'verify'])
  const base64url = (bytes: ArrayBuffer) =>
    btoa(String.fromCharCode(...new Uint8Array(bytes)))
      .replaceAll('+', '-')
      .replaceAll('/', '_')
      .replace(/=+$/, '')
  const spki = await crypto.subtle.exportKey('spki', pair.publicKey)
  const keyId = base64url(await crypto.subtle.digest('SHA-256', spki)).slice(0, 16)
  Object.assign(window, { device: { key: pair.privateKey, keyId } })
  return base64url(spki)
}

/** Runs in the page. */
function storeDevice(deviceId: string): Promise<void> {
  localStorage.setItem('parley:device', deviceId)
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open('parley-device', 1)
    opening.onupgradeneeded = () => opening.result.createObjectStore('devices')
    opening.onerror = () => reject(opening.error)
    opening.onsuccess = () => {
      const writing = opening.result.transaction('devices', 'readwrite')
      const { device } = window as unknown as { device: { key: CryptoKey; keyId: string } }
      writing.objectStore('devices').put({ deviceId, ...device }, 'this')
      writing.onabort = () => reject(writing.error)
      writing.oncomplete = () => {
        opening.result.close()
        resolve()
      }
    }
  })
}
