import { createClient } from '@parley/client'
import { useSyncExternalStore } from 'react'

/** The one way to the server. The cookie of the page signs it in. */
export const client = createClient({ url: location.origin, name: 'parley-console' })

const subscribe = (listener: () => void) => client.socket.onStatus(listener)

export function useConnection() {
  return useSyncExternalStore(subscribe, () => client.socket.status)
}
