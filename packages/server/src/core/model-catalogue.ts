import type { AgentAdapter } from '@parley/adapter-kit'
import {
  type AgentInfo,
  type AgentModel,
  type AgentModels,
  defined,
  type SessionState,
} from '@parley/protocol'
import { type Clock, withTimeLimit } from './clock.ts'
import type { SessionStore } from './session-store.ts'

export type ModelCatalogue = {
  /** The models of every agent, as the programs report them. There is no built-in list. */
  models(): Promise<AgentModels[]>
}

/** The number of an agent's latest sessions that are searched for its models. */
const sessionsSearched = 10

const askMs = 15_000

/**
 * The models come from the probe of the agent, or from its last session if that session ran the same version.
 * Otherwise the agent is asked for them once per version.
 */
export function createModelCatalogue(parts: {
  readonly store: Pick<SessionStore, 'list' | 'load'>
  readonly clock: Clock
  readonly agents: () => Promise<AgentInfo[]>
  readonly adapters: ReadonlyMap<string, Pick<AgentAdapter, 'models'>>
}): ModelCatalogue {
  const asked = new Map<string, Promise<readonly AgentModel[]>>()

  /** Asks an agent for its models, once per version. A request that failed is repeated on the next call. */
  function ask({ id, found, signedIn, usable, version }: AgentInfo): Promise<readonly AgentModel[]> {
    const adapter = parts.adapters.get(id)
    const list = adapter?.models?.bind(adapter)
    if (!list || !found || signedIn === false || usable === false) return Promise.resolve([])
    const key = `${id} ${version ?? ''}`
    const before = asked.get(key)
    if (before) return before
    const models = withTimeLimit(parts.clock, askMs, list).catch(() => {
      asked.delete(key)
      return []
    })
    asked.set(key, models)
    return models
  }

  async function modelsOf(info: AgentInfo): Promise<AgentModels> {
    const { id: agent, name, version } = info
    const probed = info.models ?? []
    const { sessions } = await parts.store.list({ agent, limit: sessionsSearched })
    const states: SessionState[] = []
    for (const { id } of sessions) {
      const state = (await parts.store.load(id))?.state
      if (state) states.push(state)
    }
    const last = states.find(({ connection }) => (connection?.models ?? []).length > 0)
    // A session of another version may have other models.
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

  return { models: async () => Promise.all((await parts.agents()).map(modelsOf)) }
}

/** The token limits of a model, from the sessions: some agents report them only for a model that is in use. */
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
    ...defined({ defaultModel: large, defaultSmallModel: small }),
  }
}
