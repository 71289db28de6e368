import type { HandOffSize, PromptPart, SessionEvent, UnknownEvent } from '@parley/protocol'

/** What is known about a folder, apart from the log. */
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
  /** Only what was before this prompt is told. Absent: everything. */
  readonly before?: string | undefined
  /** hand-off: another agent continues the work. retold: an agent continues a session without its own conversation. */
  readonly reason: 'hand-off' | 'retold'
  /** How an agent is called, by its id. */
  readonly agentName: (agent: string) => string
  /** The longest text, in characters. */
  readonly budget: number
  /** Whether the agent takes images. */
  readonly takesImages: boolean
  readonly folder?: FolderFacts | undefined
}

export type HandOff = HandOffSize & {
  readonly text: string
  /** The last event that is told. */
  readonly seq: number
  readonly attached: readonly PromptPart[]
}

/**
 * PORT. Tells the events of a session to an agent that did not take part in it, or has forgotten it. The text is never
 * longer than the budget. Rejects with ParleyError `not_found` if `before` is not a prompt of the session.
 */
export type WriteHandOff = (
  events: readonly (SessionEvent | UnknownEvent)[],
  options: HandOffOptions,
) => Promise<HandOff>
