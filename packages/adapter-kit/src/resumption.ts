/** The conversation that an agent continues, and the way in which it continues it. */
export type Resumption = {
  readonly agentSessionId: string
  /** True if a copy of the conversation is continued. The conversation itself must remain unchanged. */
  readonly fork?: boolean
  /**
   * With `fork`, for agents with the capability `forkBefore`: the agent's ids of a prompt and of the prompts after it. The
   * copy ends before the first of them that the conversation contains. If it contains none, `connect` rejects.
   */
  readonly before?: readonly string[]
  /**
   * With `fork`, for agents with the capability `aside`: the copy is stored nowhere. Nothing of it remains when the
   * connection has ended, however it ended.
   */
  readonly temporary?: true
  /**
   * The number of completed turns that the session remembers. If it is 0, an agent that has no record of the conversation
   * has lost nothing.
   */
  readonly turns: number
}
