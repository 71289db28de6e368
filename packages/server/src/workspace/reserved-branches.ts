/**
 * The branches of worktrees that are planned but not made yet, so that two sessions with the same words get different
 * branches. Git does not know them.
 */
export type ReservedBranches = {
  /** Returns false if the branch is reserved for another session. */
  add(repository: string, sessionId: string, branch: string): boolean
  /** The branches that are reserved for other sessions. */
  of(repository: string, sessionId: string): ReadonlySet<string>
  /** Called when the worktree of the session was made, or could not be made. */
  release(sessionId: string): void
}

/** The time after which a reservation ends, because the session was perhaps never created. */
const keptMs = 10 * 60_000

export function createReservedBranches(now = () => performance.now()): ReservedBranches {
  const kept = new Map<
    string,
    { readonly repository: string; readonly branch: string; readonly at: number }
  >()
  function of(repository: string, sessionId: string): ReadonlySet<string> {
    for (const [id, { at }] of kept) if (now() - at >= keptMs) kept.delete(id)
    const others = [...kept].filter(([id, one]) => id !== sessionId && one.repository === repository)
    return new Set(others.map(([, { branch }]) => branch))
  }

  return {
    of,
    add(repository, sessionId, branch) {
      if (of(repository, sessionId).has(branch)) return false
      kept.set(sessionId, { repository, branch, at: now() })
      return true
    },
    release: (sessionId) => void kept.delete(sessionId),
  }
}
