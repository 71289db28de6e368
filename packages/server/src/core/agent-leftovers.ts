import type { EnvironmentVariables } from '@parley/protocol'

/**
 * PORT. Finds agent processes that another process of Parley started on this machine and left behind. Such a process
 * could change the folder of a session that continues here.
 */
export type AgentLeftovers = {
  /** Environment variables by which `end` finds an agent and its descendants. `owner` is a secret random text. */
  variables(owner: string): EnvironmentVariables
  /**
   * Kills all processes that were started with the variables of this owner. Resolves when none is left, and rejects
   * with ParleyError `busy` if some cannot be ended.
   */
  end(owner: string): Promise<void>
}
