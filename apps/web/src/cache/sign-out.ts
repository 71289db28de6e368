import { client } from '../page/client.ts'
import { forgetDevice, onRevoked } from '../page/device.ts'
import { preferences } from '../page/preferences.ts'
import { clearCache, stopKeeping } from './cache.ts'
import { forgetPage } from './keep-page.ts'

const sign = 'parley:signed-out'
let leaving: Promise<void> | undefined

/** Signs this browser out and leaves nothing of what was done in it, by whatever tab. */
export async function signOut(): Promise<void> {
  await client.call('signOut')
  await leave()
}

/** Another tab may have signed this browser out, or somebody elsewhere who saw it in the list. */
export function watchSignOut(): void {
  onRevoked(() => void leave())
  addEventListener('storage', ({ key, newValue }) => {
    if (key === sign && newValue !== null) void leave()
  })
}

function leave(): Promise<void> {
  leaving ??= clear().finally(() => location.assign('/'))
  return leaving
}

async function clear(): Promise<void> {
  stopKeeping()
  client.close()
  // What was under way is given up first, and may put something back where it was written.
  await new Promise((resolve) => setTimeout(resolve))
  preferences.set(({ agent, folder, ...rest }) => rest)
  await Promise.all([forgetDevice(), clearCache(), forgetPage()])
  localStorage.setItem(sign, String(Date.now()))
}
