import type { Device, Me, Scope } from '@parley/protocol'
import { client } from './client.ts'
import { createPersistedStore } from './persisted-store.ts'
import { useStore } from './store.ts'

/** The person and the device of this browser, and its scopes. Empty until the first answer of the server. */
export type Self = {
  readonly personId?: string
  readonly deviceId?: string
  readonly scopes?: readonly Scope[]
  readonly features?: Me['features']
}

const self = createPersistedStore<Self>('self', {})

/** Requests the scopes at each connection. The server ends the connections of a person whose rights change. */
export function watchSelf(): void {
  client.socket.onStatus(({ state }) => {
    if (state !== 'open') return
    client.call('getMe').then(
      ({ person, id, scopes, features }) =>
        self.set({ personId: person.personId, deviceId: id, scopes, ...(features && { features }) }),
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

/**
 * Whether the server has the feature. True until the features are known, because only an embedded server may
 * lack a feature.
 */
export function useHas(feature: keyof NonNullable<Me['features']>): boolean {
  return useStore(self, ({ features }) => features?.[feature] ?? true)
}

function permits({ scopes }: Self, scope: Scope): boolean {
  return scopes?.includes(scope) ?? true
}
