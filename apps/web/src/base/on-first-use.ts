import type { LiveStore } from '@parley/client'

/**
 * A store that is created when it is first used: creating a list connects to the server, and the sign-in page must
 * not connect.
 */
export function createOnFirstUse<Snapshot>(make: () => LiveStore<Snapshot>): LiveStore<Snapshot> {
  let made: LiveStore<Snapshot> | undefined
  const store = () => {
    made ??= make()
    return made
  }
  return {
    subscribe: (listener) => store().subscribe(listener),
    getSnapshot: () => store().getSnapshot(),
  }
}
