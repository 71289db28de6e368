import type { LiveStore } from '@parley/client'

/** A store that is made when it is first used: making a list connects to the server, which the sign-in page must not do. */
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
