import { createClient } from '@parley/client'
import { useSyncExternalStore } from 'react'
import { accessToken } from './device.ts'

const takenListeners = new Set<() => void>()

/** Calls the listener whenever the server has accepted a command or a write request. */
export function onTaken(listener: () => void): void {
  takenListeners.add(listener)
}

function taken(): void {
  for (const listener of takenListeners) listener()
}

/** The page's only connection to the server. The device key of this browser signs it in. */
export const client = createClient({
  url: location.origin,
  name: 'parley-console',
  token: accessToken,
  async fetch(input, init) {
    const response = await fetch(input, init)
    if (response.ok && (init?.method ?? 'GET') !== 'GET') taken()
    return response
  },
})

client.socket.onFrame((frame) => {
  if (frame.type === 'receipt' && !frame.error) taken()
})

const subscribe = (listener: () => void) => client.socket.onStatus(listener)

export function useConnection() {
  return useSyncExternalStore(subscribe, () => client.socket.status)
}
