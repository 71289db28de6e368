import type { ViewedFile } from '@parley/protocol'

/**
 * PORT. Stores which changed files people have viewed, and makes no decisions. Rules:
 * - each person has own marks in each session; a file has at most one mark, of the content that was viewed last.
 * - a change is durable against the death of this process when the promise resolves.
 * - a failure of the medium is a ParleyError (`busy` if trying again can help, else `internal_error`).
 * - the marks of a session are deleted with the session, and none are stored for an unknown session.
 */
export type ViewedStore = {
  /** The files that the person has viewed, in the order in which they were marked. */
  viewedFiles(sessionId: string, personId: string): Promise<ViewedFile[]>
  /**
   * Marks files as viewed, or removes the marks of those without a blob. Then the oldest marks of the person in this
   * session are removed until their size is at most `most`. The size of a mark is the length of its path plus 100.
   */
  markViewed(
    sessionId: string,
    personId: string,
    files: readonly { readonly path: string; readonly blob: string | null }[],
    most: number,
  ): Promise<void>
}

/** The size of a mark in addition to its path. */
export const viewedMarkSize = 100
