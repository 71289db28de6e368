import type { AgentAdapter } from '@parley/adapter-kit'
import type { EventOf, EventType, SessionEvent } from '@parley/protocol'
import { createHost, type Host } from '../index.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { logProblems } from './invariants.ts'
import { expect } from './peers.ts'

/** For tests of an agent's conversations: a host with the agent, and the sessions imported into it. */

export async function hostWith(adapter: AgentAdapter): Promise<Host & AsyncDisposable> {
  const host = await createHost({ adapters: [adapter], store: createMemoryStore() })
  return Object.assign(host, { [Symbol.asyncDispose]: () => host.close() })
}

/** Imports the first conversation of the agent in this folder. */
export async function importFrom(host: Host, agent: string, cwd: string) {
  const [found] = await host.conversations(agent, { cwd })
  const { agentSessionId = '' } = found ?? {}
  const state = await host.importConversation({ agent, agentSessionId })
  return { state, agentSessionId, ...(await lawfulLog(host, state.id)) }
}

/** Like `importFrom`, but also checks that importing the conversation again gives the same session. */
export async function importOnce(host: Host, agent: string, cwd: string) {
  const imported = await importFrom(host, agent, cwd)
  const { state, agentSessionId } = imported
  expect((await host.importConversation({ agent, agentSessionId })).id).toBe(state.id)
  expect((await host.conversations(agent, { cwd })).map(({ sessionId }) => sessionId)).toEqual([state.id])
  expect(state).toMatchObject({ status: 'idle', importedFrom: { agentSessionId }, turns: 1 })
  return imported
}

export async function lawfulLog(host: Host, sessionId: string) {
  const { events } = await host.read(sessionId, { after: 0, limit: 1000 })
  const log = events.map(({ json }) => JSON.parse(json) as SessionEvent)
  expect(logProblems(log)).toEqual([])
  const all = <Type extends EventType>(type: Type) =>
    log.filter((event): event is EventOf<Type> => event.type === type)
  return { log, all }
}
