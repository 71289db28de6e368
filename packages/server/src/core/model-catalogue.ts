import type { AgentInfo, AgentModel, AgentModels, SessionState } from '@parley/protocol'
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
    const { sessions } = await parts.store.list({ agent, limit: sessionsLooked })
    const states: SessionState[] = []
    for (const { id } of sessions) {
      const state = (await parts.store.load(id))?.state
      if (state) states.push(state)
    }
    const last = states.find(({ connection }) => (connection?.models ?? []).length > 0)
    const known = models.length > 0 ? models : (last?.connection?.models ?? [])
    const listed = known.map((model) => ({ ...model, ...limitsOf(model, states) }))
    return {
      agent,
      name,
      models: listed,
      ...defaultsOf(listed),
      ...(models.length > 0 && { source: 'probe' as const }),
      ...(models.length === 0 && last && { source: 'session' as const, seenAt: last.updatedAt }),
    }
  }

  return { models: async () => Promise.all((await parts.agents()).map(told)) }
}

/** What a model takes and gives at most, where the agent tells it only of a model that works: the sessions know. */
function limitsOf(model: AgentModel, states: readonly SessionState[]): Partial<AgentModel> {
  const names = [model.id, model.resolvesTo]
  const used = states.find(
    ({ connection, usage }) => usage?.context.window !== undefined && names.includes(connection?.model ?? ''),
  )
  const { window, maxOutput } = used?.usage?.context ?? {}
  return {
    ...(model.contextWindow === undefined && window !== undefined && { contextWindow: window }),
    ...(model.maxOutputTokens === undefined && maxOutput !== undefined && { maxOutputTokens: maxOutput }),
  }
}

function defaultsOf(models: readonly AgentModel[]): Pick<AgentModels, 'defaultModel' | 'defaultSmallModel'> {
  const large = models.find(({ isDefault }) => isDefault)?.id
  const small = models.find(({ isSmallDefault }) => isSmallDefault)?.id
  return {
    ...(large !== undefined && { defaultModel: large }),
    ...(small !== undefined && { defaultSmallModel: small }),
  }
}
