import { embeddedHost, type Principal } from '../../access/index.ts'
import type { Host } from '../../core/index.ts'
import type { Access } from './access.ts'

const pageSize = 100

/**
 * The sessions of a host in this process. With a principal, the editor may do only what its scopes and limits permit,
 * the log names the person, and the face is closed when the access ends. Without a principal, the editor acts for the
 * owner.
 */
export function hostAccess(given: Host, principal?: Principal): Access {
  const { host, over } = principal ? embeddedHost(given, principal, 'acp') : { host: given, over: undefined }
  return {
    agent: async (id) => (await host.agents()).find((agent) => agent.id === id),
    create: (input) => host.create(input),
    state: (sessionId) => host.state(sessionId),
    list: ({ agent, cursor }) =>
      host.list({ agent, limit: pageSize, archived: false, ...(cursor !== undefined && { cursor }) }),
    command: (sessionId, command) => host.command(sessionId, command),
    remove: (sessionId) => host.delete(sessionId),
    feed: (sessionId, from) => host.feed(sessionId, from),
    ...(over && { over }),
  }
}
