import type { SharedSettings } from './shared-settings.ts'

/** A target of alerts. The folder alerts/ defines its data. */
export type TargetRecord = {
  readonly id: string
  readonly data: Readonly<Record<string, unknown>>
  readonly createdAt: number
  /** The last attempt to send to the target. It is not a setting: other processes are not notified of it. */
  readonly last?: Readonly<Record<string, unknown>>
}

/** An alert that is to be sent to a target. */
export type NewDelivery = {
  readonly target: string
  /** The id of the alert. A target gets each alert once. */
  readonly alert: string
  readonly session: string
  /**
   * The request or turn that the alert is about. Deliveries of a target with one subject are sent one after another.
   */
  readonly subject: string
  readonly body: string
  readonly nextAt: number
  readonly expiresAt: number
}

export type ClaimedDelivery = Pick<NewDelivery, 'target' | 'alert' | 'subject' | 'body' | 'expiresAt'> & {
  /** The number of claims of the delivery, including the current claim. */
  readonly attempts: number
  /** True if a later delivery to the same target has the same subject. */
  readonly isSuperseded: boolean
  /** True if an earlier delivery to the same target with the same subject was sent. */
  readonly followsSent: boolean
}

export type DeliveryOutcome =
  /** `sent` is false if the delivery was dropped because nobody needs it any more. */
  | { readonly done: true; readonly sent: boolean; readonly at: number }
  | { readonly done: false; readonly nextAt: number; readonly attempts: number }

/** The deliveries that are derived from the events of a session up to `to`. */
export type AlertStep = {
  readonly session: string
  /** The cursor before this step; undefined if there was none. */
  readonly from: number | undefined
  readonly to: number
  /** The epoch of the log that was searched. If the session has another epoch now, nothing is added. */
  readonly epoch?: string
  readonly deliveries: readonly NewDelivery[]
}

/**
 * PORT. Stores the targets of alerts, the position up to which each log was searched, and the deliveries that are still
 * to be sent. It makes no decisions. Rules:
 * - a change is durable against the death of this process when the promise resolves.
 * - a storage failure rejects with a ParleyError (`busy` if trying again can help, else `internal_error`).
 * - the cursor and the deliveries of a session are deleted with the session.
 * - times are milliseconds since 1970 by the clock of the caller.
 */
export type AlertStore = {
  /** All targets, oldest first. */
  targets(): Promise<TargetRecord[]>
  /** Adds a target, or replaces the data of the target with this id. */
  putTarget(target: TargetRecord): Promise<void>
  /** Removes a target and its deliveries. Returns false if there was no such target. */
  removeTarget(id: string): Promise<boolean>
  /** Replaces `last` of a target. Has no effect if there is no such target. */
  noteTarget(id: string, last: Readonly<Record<string, unknown>>): Promise<void>

  /** The seq up to which the events of a session were searched for alerts. */
  alertCursor(sessionId: string): Promise<number | undefined>
  /**
   * Moves the cursor of a session and adds deliveries, both or neither. Returns false, without an effect, if the cursor
   * is not `from`: of several processes that search the same events, one succeeds. It also returns false if an event was
   * redacted since the log was read. A delivery whose target already has this alert, or no longer exists, is left out.
   */
  addAlerts(step: AlertStep): Promise<boolean>
  /** Ids of sessions that changed after `since`, whose log continues after their cursor and that no living process owns. */
  sessionsToSearch(since: number): Promise<string[]>

  /**
   * Takes up to `limit` deliveries that are due at `now`, the earliest first. A claim ends at `until`; until then
   * nobody else can claim the delivery. A delivery waits for earlier deliveries to the same target with the same
   * subject.
   */
  claimDeliveries(claim: {
    readonly now: number
    readonly until: number
    readonly limit: number
  }): Promise<ClaimedDelivery[]>
  /** Ends every claim. Called by the only process that uses the store, when it starts. */
  releaseDeliveries(): Promise<void>
  settleDelivery(target: string, alert: string, outcome: DeliveryOutcome): Promise<void>
  /** The time at which the next delivery is due; undefined if none waits. */
  nextDelivery(): Promise<number | undefined>
  /** Deletes deliveries that were done or expired before this time. */
  pruneDeliveries(before: number): Promise<void>

  /** Stores the time until which a page of a person counts as visible. Undefined means that it is no longer visible. */
  setPresence(page: string, personId: string, until: number | undefined): Promise<void>
  visiblePages(personId: string, now: number): Promise<string[]>

  /** Returns the key that signs pushes. The first call creates it with `make` and stores it. */
  pushKey(make: () => string): Promise<string>
  /** Absent if no other process can open the store. */
  readonly shared?: SharedSettings
}
