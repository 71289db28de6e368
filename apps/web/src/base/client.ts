import { createClient } from '@parley/client'
import { useSyncExternalStore } from 'react'
import { accessToken } from './device.ts'

const acceptedListeners = new Set<() => void>()

/** The page's only connection to the server. It signs in with the device key of this browser. */
export const client = createClient({
  url: document.baseURI,
  name: 'parley-console',
  token: accessToken,
  async fetch(input, init) {
    const response = await fetch(input, init)
    if (response.ok && (init?.method ?? 'GET') !== 'GET') {
      for (const listener of acceptedListeners) listener()
    }
    return response
  },
})

/** Calls the listener whenever the server has accepted a command or a write request. */
export function onAccepted(listener: () => void): void {
  acceptedListeners.add(listener)
  client.socket.onFrame((frame) => frame.type === 'receipt' && !frame.error && listener())
}

const subscribe = (listener: () => void) => client.socket.onStatus(listener)

export function useConnection() {
  return useSyncExternalStore(subscribe, () => client.socket.status)
}
