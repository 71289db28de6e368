import type { AgentInfo } from '@parley/protocol'
import { builtInAdapters } from '../adapters/index.ts'
import { unknownAgent } from '../core/index.ts'
import type { Flags } from './configuration.ts'
import { type Context, configurationOf } from './context.ts'

/**
 * Refuses an unknown agent. The server is asked only about agents that are not built in and that the configuration does
 * not name, because the server probes all of its agents before it answers. The modules of config.json are not loaded.
 */
export async function expectAgent(
  agent: string,
  { flags, context, served }: { flags: Flags; context: Context; served: () => Promise<readonly AgentInfo[]> },
): Promise<void> {
  const { agents } = configurationOf(context, flags)
  const adapters = builtInAdapters({ env: context.env, agents, isElsewhere: () => true })
  if (adapters.some(({ id }) => id === agent)) return
  const known = (await served()).map(({ id }) => id)
  if (!known.includes(agent)) throw unknownAgent(agent, known)
}
