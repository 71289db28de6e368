import type { Device, Scope } from '@parley/protocol'
import { client } from './client.ts'
import { createPersistedStore } from './persisted-store.ts'
import { useStore } from './store.ts'

/** The person and the device of this browser, and its scopes. Empty until the first answer of the server. */
export type Self = {
  readonly personId?: string
  readonly deviceId?: string
  readonly scopes?: readonly Scope[]
}

const self = createPersistedStore<Self>('self', {})

/** Requests the scopes at each connection. The server ends the connections of a person whose rights change. */
export function watchSelf(): void {
  client.socket.onStatus(({ state }) => {
    if (state !== 'open') return
    client.call('getMe').then(
      ({ person, id, scopes }) => self.set({ personId: person.personId, deviceId: id, scopes }),
      () => undefined,
    )
  })
}

/** Stores the scopes that a sign-in returned, so that the first page shows only permitted actions. */
export function rememberSelf({ personId, deviceId, scopes }: Device): void {
  self.set({ personId, deviceId, scopes })
}

export const currentSelf = self.get
export const useSelf = () => useStore(self)

/** Whether the person has the scope. True until the scopes are known, because most people have all of them. */
export function may(scope: Scope): boolean {
  return permits(self.get(), scope)
}

export function useMay(scope: Scope): boolean {
  return useStore(self, (state) => permits(state, scope))
}

function permits({ scopes }: Self, scope: Scope): boolean {
  return scopes?.includes(scope) ?? true
}
