import type { Device, Scope } from '@parley/protocol'
import { client } from './client.ts'
import { createPersistedStore } from './persisted-store.ts'
import { useStore } from './store.ts'

/** Who uses this browser, and what they may do. The fields are absent until the server has answered for the first time. */
export type Self = {
  readonly personId?: string
  readonly deviceId?: string
  readonly scopes?: readonly Scope[]
}

const self = createPersistedStore<Self>('self', {})

/** Asks the server at each connection: it ends the connections of a person whose rights change. */
export function watchSelf(): void {
  client.socket.onStatus(({ state }) => {
    if (state !== 'open') return
    client.call('getMe').then(
      ({ person, id, scopes }) => self.set({ personId: person.personId, deviceId: id, scopes }),
      () => undefined,
    )
  })
}

/** Stores what a sign-in has returned, so that the page shows only what is permitted before it has asked. */
export function rememberSelf({ personId, deviceId, scopes }: Device): void {
  self.set({ personId, deviceId, scopes })
}

export const currentSelf = self.get
export const useSelf = () => useStore(self)

/** Whether the person has the scope. True until it is known, because most people are the only one and may do everything. */
export function may(scope: Scope): boolean {
  return permits(self.get(), scope)
}

export function useMay(scope: Scope): boolean {
  return useStore(self, (state) => permits(state, scope))
}

function permits({ scopes }: Self, scope: Scope): boolean {
  return scopes?.includes(scope) ?? true
}
