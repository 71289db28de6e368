import { type AgentConversation, ParleyError } from '@parley/protocol'
import type { AgentMemory, Remembered } from '../../core/agent-adapter.ts'
import { Retelling } from './retelling.ts'
import { storedSessions } from './session-file.ts'
import { type ListedSession, sessionPages } from './session-pages.ts'
import { sessionMeta } from './settings.ts'
import { cannot, load, signedIn } from './start.ts'
import { type Teller, type TellerOptions, withTeller } from './teller.ts'

const titleLength = 80

/** An agent's memory, listed by its own program (or from its files) and read by a replay. No turn runs for it. */
export function acpMemory(options: TellerOptions): AgentMemory {
  const { agent, env } = options
  const { conversations } = agent
  const kept = typeof conversations === 'object' ? conversations : undefined

  async function listed(query: { cwd?: string }, signal: AbortSignal): Promise<AgentConversation[]> {
    if (kept) return storedSessions({ folder: kept.folder, home: env[kept.home] ?? env.HOME, signal })
    return withTeller(options, signal, async ({ wire, about }) => {
      if (about.agentCapabilities?.sessionCapabilities?.list == null)
        throw cannot(agent, 'list its conversations')
      const found: AgentConversation[] = []
      for await (const session of sessionPages(wire, query)) found.push(conversationOf(session))
      return found
    })
  }

  const list = async (query: { cwd?: string }, signal: AbortSignal) => {
    const found = await listed(query, signal)
    return found.filter(({ cwd }) => query.cwd === undefined || cwd === query.cwd)
  }

  return {
    list,
    async *read(agentSessionId, signal) {
      const one = (await list({}, signal)).find((known) => known.agentSessionId === agentSessionId)
      if (!one) throw new ParleyError('not_found', `${agent.name} has no conversation ${agentSessionId}.`)
      yield* await withTeller({ ...options, folder: one.cwd }, signal, (teller) => retold(teller, one))
    },
  }
}

function conversationOf({ sessionId, cwd, title, updatedAt }: ListedSession): AgentConversation {
  const words = (title ?? '').replace(/\s+/g, ' ').trim().slice(0, titleLength)
  return {
    agentSessionId: sessionId,
    cwd,
    title: words || sessionId,
    updatedAt: Date.parse(updatedAt ?? '') || 0,
  }
}

async function retold(teller: Teller, one: AgentConversation): Promise<readonly Remembered[]> {
  const { agent, about } = teller
  const { agentSessionId: sessionId, cwd, updatedAt } = one
  if (!about.agentCapabilities?.loadSession) throw cannot(agent, 'replay its conversations')
  const retelling = new Retelling(agent, { id: sessionId, at: updatedAt })
  teller.listen((frame) => retelling.hear(frame))
  const _meta = sessionMeta(agent, { trusted: false })
  const params = { sessionId, cwd, mcpServers: [], ...(_meta && { _meta }) }
  await signedIn(teller, about, () => load(teller, params))
  return retelling.end()
}
