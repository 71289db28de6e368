import { client } from '../page/client.ts'
import { preferences } from '../page/preferences.ts'
import { clearCache, stopKeeping } from './cache.ts'
import { forgetPage } from './keep-page.ts'

const sign = 'parley:signed-out'

/** Signs this browser out and leaves nothing of what was done in it, by whatever tab. */
export async function signOut(): Promise<void> {
  await client.call('signOut')
  await leave()
  localStorage.setItem(sign, String(Date.now()))
  location.assign('/')
}

/** A tab that is open elsewhere goes too, or it would go on showing and keeping what it hears. */
export function watchSignOut(): void {
  addEventListener('storage', ({ key, newValue }) => {
    if (key === sign && newValue !== null) void leave().finally(() => location.assign('/'))
  })
}

async function leave(): Promise<void> {
  stopKeeping()
  client.close()
  // What was under way is given up first, and may put something back where it was written.
  await new Promise((resolve) => setTimeout(resolve))
  preferences.set(({ agent, folder, ...rest }) => rest)
  await Promise.all([clearCache(), forgetPage()])
}
