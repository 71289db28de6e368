import type { Via } from '@parley/protocol'
import type { Host } from '../core/index.ts'
import { hostFor } from './guarded-host.ts'
import { unstoredCaller } from './holders.ts'
import type { Principal } from './principal.ts'

/** The host for a principal whom the embedding program has named. `over` aborts when the access of the principal ends. */
export function embeddedHost(
  host: Host,
  principal: Principal,
  via: Via,
): { readonly host: Host; readonly over: AbortSignal } {
  const caller = unstoredCaller('embedded', { ...principal, kind: 'embedded' })
  const ending = new AbortController()
  if (caller.isRevoked) ending.abort()
  else caller.onRevoked(() => ending.abort())
  return { host: hostFor(host, caller.principal, via), over: ending.signal }
}
