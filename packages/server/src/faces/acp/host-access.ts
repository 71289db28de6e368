import type { Host } from '../../core/index.ts'
import type { Access } from './access.ts'

const pageSize = 100

export function hostAccess(host: Host): Access {
  return {
    agent: async (id) => (await host.agents()).find((agent) => agent.id === id),
    create: (input) => host.create(input),
    state: (sessionId) => host.state(sessionId),
    list: ({ agent, cursor }) =>
      host.list({ agent, limit: pageSize, archived: false, ...(cursor !== undefined && { cursor }) }),
    command: (sessionId, command) => host.command(sessionId, command),
    remove: (sessionId) => host.delete(sessionId),
    feed: (sessionId, from) => host.feed(sessionId, from),
  }
}
