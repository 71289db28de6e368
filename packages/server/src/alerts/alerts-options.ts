import type { Principal } from '../access/index.ts'
import type { AlertStore } from '../core/alert-store.ts'
import type { SessionStore } from '../core/session-store.ts'
import type { SendParts } from './send.ts'

/** Settings of alerts, from `alerts` in config.json. */
export type AlertSettings = {
  /** Permits private addresses, and http at these addresses, for webhooks and ntfy servers. */
  readonly privateTargets?: boolean | undefined
  /** Origins of push services that may have a private address. */
  readonly pushServices?: readonly string[] | undefined
  /** A https or mailto URL with which the operators of push services can reach the operator of this server. */
  readonly contact?: string | undefined
  /**
   * The time that an alert waits before it is sent to browsers and ntfy topics: a person may see it in the console
   * first.
   */
  readonly waitMs?: number | undefined
}

export type AlertsOptions = {
  readonly store: SessionStore & AlertStore
  /** The principal of a device or a token; undefined if it was revoked. */
  readonly principalOf: (holder: {
    readonly kind: 'device' | 'token'
    readonly id: string
  }) => Promise<Principal | undefined>
  /** The last entry of the ledger. */
  readonly ledgerHead: SendParts['ledgerHead']
  /** The address of the console, without a slash at the end. */
  readonly url: () => string
  readonly settings?: AlertSettings | undefined
  readonly problem: (error: unknown, doing: string) => void
}
