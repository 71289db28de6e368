import { createClient } from '@parley/client'
import { useSyncExternalStore } from 'react'
import { accessToken } from './device.ts'

const takenListeners = new Set<() => void>()

/** Heard when the server has taken something that was sent to it. */
export function onTaken(listener: () => void): void {
  takenListeners.add(listener)
}

function taken(): void {
  for (const listener of takenListeners) listener()
}

/** The one way to the server. The key of this browser signs it in. */
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
