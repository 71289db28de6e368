import { type AgentConversation, type AgentInfo, ParleyError } from '@parley/protocol'
import { useEffect, useState } from 'react'
import { client } from '../base/client.ts'
import { errorText } from '../base/error-text.logic.ts'

export type Found = AgentConversation & { readonly agent: AgentInfo }
export type Conversations = {
  readonly found: readonly Found[]
  /** How many agents have not answered yet. */
  readonly asking: number
  readonly problems: readonly string[]
}

const noConversations: Conversations = { found: [], asking: 0, problems: [] }

/** The conversations of all installed agents that list them, added as each agent answers, the latest first. */
export function useConversations(agents: readonly AgentInfo[]): Conversations {
  const here = agents.filter((agent) => agent.found && agent.conversations)
  const ids = here.map(({ id }) => id).join(' ')
  const [conversations, setConversations] = useState(noConversations)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the ids stand for the agents
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    setConversations({ ...noConversations, asking: here.length })
    for (const agent of here) {
      void listFrom(agent, signal).then(({ found, problems }) => {
        if (signal.aborted) return
        setConversations((before) => ({
          found: [...before.found, ...found].toSorted((one, other) => other.updatedAt - one.updatedAt),
          asking: before.asking - 1,
          problems: [...before.problems, ...problems],
        }))
      })
    }
    return () => controller.abort()
  }, [ids])
  return conversations
}

async function listFrom(
  agent: AgentInfo,
  signal: AbortSignal,
): Promise<Pick<Conversations, 'found' | 'problems'>> {
  try {
    const { conversations } = await client.call('listConversations', {
      params: { id: agent.id },
      query: {},
      signal,
    })
    return { found: conversations.map((one) => ({ ...one, agent })), problems: [] }
  } catch (thrown) {
    const isSilent = thrown instanceof ParleyError && thrown.code === 'not_supported'
    return { found: [], problems: isSilent ? [] : [errorText(thrown)] }
  }
}
