import { client } from '../base/client.ts'
import { forgetDevice, onRevoked } from '../base/device.ts'
import { preferences } from '../base/preferences.ts'
import { setPushMark } from '../base/push-mark.ts'
import { removeServiceWorker } from '../base/service-worker.ts'
import { clearCache, stopCaching } from './cache.ts'

export const signedOutKey = 'parley:signed-out'
/** The prefix of the value of `signedOutKey` if the device was revoked elsewhere. */
export const revokedMark = 'revoked '
let leaving: Promise<void> | undefined

/** Signs this browser out and removes everything that any of its tabs stored. */
export async function signOut(): Promise<void> {
  await client.call('signOut')
  await leave('')
}

/** Clears this browser when another tab signs it out, or when its device is revoked elsewhere. */
export function watchSignOut(): void {
  onRevoked(() => void leave(revokedMark))
  addEventListener('storage', ({ key, newValue }) => {
    if (key === signedOutKey && newValue !== null)
      void leave(newValue.startsWith(revokedMark) ? revokedMark : '')
  })
}

function leave(mark: string): Promise<void> {
  leaving ??= clear(mark).finally(() => location.assign('.'))
  return leaving
}

async function clear(mark: string): Promise<void> {
  stopCaching()
  client.close()
  // Closing the client aborts its calls, which may still write to storage. Storage is cleared after these writes.
  await new Promise((resolve) => setTimeout(resolve))
  setPushMark(undefined)
  preferences.set(({ agent, folder, ...rest }) => rest)
  await Promise.all([forgetDevice(), clearCache(), removeServiceWorker()])
  localStorage.setItem(signedOutKey, mark + Date.now())
}
