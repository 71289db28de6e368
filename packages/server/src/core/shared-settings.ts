/**
 * PORT. Notifies the processes that share a store of changed settings: rules, trusted folders, variables, devices. Each
 * process has a copy of them in memory. Absent if no other process can open the store. Rules:
 * - a process applies a change soon after it is stored, and in any case before it becomes the owner of a session.
 * - a process that does not apply a change in time loses its sessions, and the others no longer wait for it.
 */
export type SharedSettings = {
  /**
   * Resolves when every living process has applied all changes that were stored before the call. A change is
   * confirmed only then: otherwise a new rule might not apply yet where the session runs. Rejects with ParleyError
   * `busy` if that cannot be determined; the change is stored nevertheless, and will be applied.
   */
  changed(): Promise<void>
  /**
   * Calls `apply` after the settings have changed; `apply` must read them again. Call this before the settings are
   * first read: a process without listeners has nothing to apply.
   */
  onChanged(apply: () => Promise<void>): void
  /**
   * False while the other processes do not wait for this one: the settings that it has read may then be out of date. If
   * they stopped waiting while this process was paused, the listeners of `onLost` are called before this getter
   * returns.
   */
  readonly isWaitedFor: boolean
  /** Calls the listener when the others stop waiting for this process. */
  onLost(listener: () => void): void
}
