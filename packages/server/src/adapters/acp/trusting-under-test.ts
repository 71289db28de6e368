import type { AgentAdapter } from '@parley/adapter-kit'

/** An adapter that treats the folder of every session as trusted. */
export function trusting(adapter: AgentAdapter): AgentAdapter {
  return { ...adapter, connect: (input) => adapter.connect({ ...input, trusted: true }) }
}
