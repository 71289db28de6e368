import type { AgentInfo } from '@parley/protocol'
import { unknownAgent } from '../core/index.ts'
import { agentsAt } from './commands/agents-install.ts'
import type { Flags } from './configuration.ts'
import type { Context } from './context.ts'

/**
 * Refuses an unknown agent. The server is asked only about agents that the configuration does not name, because the
 * server probes all of its agents before it answers.
 */
export async function expectAgent(
  agent: string,
  { flags, context, served }: { flags: Flags; context: Context; served: () => Promise<readonly AgentInfo[]> },
): Promise<void> {
  const { adapters } = agentsAt(flags, context)
  if (adapters.some(({ id }) => id === agent)) return
  const known = (await served()).map(({ id }) => id)
  if (!known.includes(agent)) throw unknownAgent(agent, known)
}
