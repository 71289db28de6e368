import type { AgentInfo, AgentModel, AgentModels, SessionState } from '@parley/protocol'
import type { AgentAdapter } from './agent-adapter.ts'
import type { SessionStore } from './session-store.ts'

export type ModelCatalogue = {
  /** The models of every agent, as the programs tell them; nothing is known by heart. */
  models(): Promise<AgentModels[]>
}

/** How many of an agent's latest sessions are looked at for one that was told its models. */
const sessionsLooked = 10

const askMs = 15_000

/**
 * Some agents tell their models when they are looked for. Others are asked for them, once a version; else the last
 * session knows.
 */
export function createModelCatalogue(parts: {
  readonly store: Pick<SessionStore, 'list' | 'load'>
  readonly agents: () => Promise<AgentInfo[]>
  readonly adapters: ReadonlyMap<string, Pick<AgentAdapter, 'models'>>
}): ModelCatalogue {
  const asked = new Map<string, Promise<readonly AgentModel[]>>()

  /** Who was asked in vain is asked again. */
  function ask({ id, found, signedIn, usable, version }: AgentInfo): Promise<readonly AgentModel[]> {
    const adapter = parts.adapters.get(id)
    if (!adapter?.models || !found || signedIn === false || usable === false) return Promise.resolve([])
    const key = `${id} ${version ?? ''}`
    const before = asked.get(key)
    if (before) return before
    const models = adapter.models(AbortSignal.timeout(askMs)).catch(() => {
      asked.delete(key)
      return []
    })
    asked.set(key, models)
    return models
  }

  async function told(info: AgentInfo): Promise<AgentModels> {
    const { id: agent, name, version } = info
    const probed = info.models ?? []
    const { sessions } = await parts.store.list({ agent, limit: sessionsLooked })
    const states: SessionState[] = []
    for (const { id } of sessions) {
      const state = (await parts.store.load(id))?.state
      if (state) states.push(state)
    }
    const last = states.find(({ connection }) => (connection?.models ?? []).length > 0)
    // A session of another version may have been told of other models.
    const isOld = last?.connection?.agentVersion !== undefined && last.connection.agentVersion !== version
    const models = probed.length === 0 && (!last || isOld) ? await ask(info) : probed
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
