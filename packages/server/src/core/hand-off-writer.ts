import type { HandOffSize, PromptPart, SessionEvent, UnknownEvent } from '@parley/protocol'

/** The facts about a folder that are not in the log. */
export type FolderFacts = {
  readonly branch?: string | undefined
  /** The files that differ from the last commit. */
  readonly changes?: readonly {
    readonly path: string
    readonly added?: number | undefined
    readonly removed?: number | undefined
  }[]
}

export type HandOffOptions = {
  /** The hand-off contains only the events before this prompt. Absent: all events. */
  readonly before?: string | undefined
  /**
   * hand-off: another agent continues the work. retold: an agent continues a session of its own whose conversation it
   * has lost.
   */
  readonly reason: 'hand-off' | 'retold'
  /** Returns the display name of the agent with this id. */
  readonly agentName: (agent: string) => string
  /** The maximum length of the text, in characters. */
  readonly budget: number
  readonly takesImages: boolean
  readonly folder?: FolderFacts | undefined
}

export type HandOff = HandOffSize & {
  readonly text: string
  /** The seq of the last event that the hand-off contains. */
  readonly seq: number
  readonly attached: readonly PromptPart[]
}

/**
 * PORT. Writes the hand-off of a session, for an agent that did not take part in it or has lost its conversation. The
 * text is never longer than the budget. Rejects with ParleyError `not_found` if `before` is not a prompt of the
 * session.
 */
export type WriteHandOff = (
  events: readonly (SessionEvent | UnknownEvent)[],
  options: HandOffOptions,
) => Promise<HandOff>
