import type { AgentInfo, AgentModels } from '@parley/protocol'
import type { SessionStore } from './session-store.ts'

export type ModelCatalogue = {
  /** The models of every agent, as the programs tell them; nothing is known by heart. */
  models(): Promise<AgentModels[]>
}

/** How many of an agent's latest sessions are looked at for one that was told its models. */
const sessionsLooked = 10

/** Some agents tell their models when they are looked for, others only when they work: then the last session knows. */
export function createModelCatalogue(parts: {
  readonly store: Pick<SessionStore, 'list' | 'load'>
  readonly agents: () => Promise<AgentInfo[]>
}): ModelCatalogue {
  async function told({ id: agent, name, models = [] }: AgentInfo): Promise<AgentModels> {
    if (models.length > 0) return { agent, name, models, source: 'probe' }
    const { sessions } = await parts.store.list({ agent, limit: sessionsLooked })
    for (const { id } of sessions) {
      const state = (await parts.store.load(id))?.state
      const heard = state?.connection?.models ?? []
      if (state && heard.length > 0) {
        return { agent, name, models: heard, source: 'session', seenAt: state.updatedAt }
      }
    }
    return { agent, name, models: [] }
  }

  return { models: async () => Promise.all((await parts.agents()).map(told)) }
}
