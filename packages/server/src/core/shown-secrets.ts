import {
  hasHidden,
  hideSecrets,
  type McpServers,
  ParleyError,
  type SessionEvent,
  type SessionState,
} from '@parley/protocol'
import type { StoredEvent } from './session-store.ts'

/**
 * Removes the values of MCP servers from everything that leaves core. The log and the state hold the complete
 * settings of MCP servers, because the agent is started with them; nobody else needs the values.
 */
export function shownState<State extends SessionState>(state: State): State {
  return state.mcpServers ? { ...state, mcpServers: hideSecrets(state.mcpServers) } : state
}

export function shownRecord<Event extends SessionEvent>(event: Event): Event {
  const isTheirs = event.type === 'session.created' || event.type === 'session.configured'
  if (!isTheirs || !event.mcpServers) return event
  return { ...event, mcpServers: hideSecrets(event.mcpServers) }
}

export function shownEvent(event: StoredEvent): StoredEvent {
  const json = shownText(event.json)
  return json === event.json ? event : { ...event, json }
}

/**
 * The text of an event without the values of MCP servers. Few events contain servers: the text of the others
 * is returned unchanged, without parsing it.
 */
export function shownText(json: string): string {
  if (!json.includes('"mcpServers":{')) return json
  const event = JSON.parse(json) as SessionEvent
  const shown = shownRecord(event)
  return shown === event ? json : JSON.stringify(shown)
}

/**
 * Resolves the servers that a client sends. A server with hidden values, exactly as replies show it, stands for the
 * current server with its real values. A hidden value in any other server is refused: the placeholder would be used
 * as a value, or the real value would be sent to an address that the client chose.
 */
export function resolvedServers(given: McpServers, current: McpServers = {}): McpServers {
  const shown = hideSecrets(current)
  return Object.fromEntries(
    Object.entries(given).map(([name, server]) => {
      const known = Object.hasOwn(current, name) ? current[name] : undefined
      if (known && JSON.stringify(server) === JSON.stringify(shown[name])) return [name, known]
      if (!hasHidden(server)) return [name, server]
      throw new ParleyError(
        'validation_error',
        `The values of the MCP server ${name} are hidden. Leave the server unchanged, or send all of its values again.`,
        { details: { server: name } },
      )
    }),
  )
}
