import type { ViewedFile } from '@parley/protocol'

/**
 * PORT. Stores which changed files people have viewed, and makes no decisions. Rules:
 * - each person has separate marks in each session; a file has at most one mark, for the content that was viewed
 *   last.
 * - a change is durable against the death of this process when the promise resolves.
 * - a storage failure rejects with a ParleyError (`busy` if trying again can help, else `internal_error`).
 * - the marks of a session are deleted with the session, and none are stored for an unknown session.
 */
export type ViewedStore = {
  /** The files that the person has viewed, in the order in which they were marked. */
  viewedFiles(sessionId: string, personId: string): Promise<ViewedFile[]>
  /**
   * Marks files as viewed, or removes the marks of files without a blob. Then removes the oldest marks of the person
   * in this session until the total size is at most `most`. The size of a mark is the length of its path plus 100.
   */
  markViewed(
    sessionId: string,
    personId: string,
    files: readonly { readonly path: string; readonly blob: string | null }[],
    most: number,
  ): Promise<void>
}

/** The constant part of the size of a mark; the length of its path is added. */
export const viewedMarkSize = 100
