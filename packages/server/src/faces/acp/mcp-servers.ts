import type { McpServer as NativeServer } from '@agentclientprotocol/sdk/unstable'
import { type McpServer, type McpServers, ParleyError } from '@parley/protocol'

/**
 * The MCP servers that an editor names; undefined if it names none. Duplicate names are refused, because one server
 * would be lost.
 */
export function mcpServersOf(native: readonly NativeServer[] | null | undefined): McpServers | undefined {
  if (!native || native.length === 0) return undefined
  const servers: McpServers = {}
  for (const server of native) {
    if (Object.hasOwn(servers, server.name)) {
      const message = `Two MCP servers have the name "${server.name}". Rename one.`
      throw new ParleyError('validation_error', message)
    }
    servers[server.name] = serverOf(server)
  }
  return servers
}

function serverOf(server: NativeServer): McpServer {
  if (!('type' in server)) {
    return { command: server.command, args: server.args, env: record(server.env) }
  }
  if (server.type !== 'acp') return { type: server.type, url: server.url, headers: record(server.headers) }
  const message = `The MCP server "${server.name}" is connected through the editor, which Parley does not support. Give its command or its URL.`
  throw new ParleyError('not_supported', message)
}

function record(pairs: readonly { name: string; value: string }[]): Record<string, string> {
  return Object.fromEntries(pairs.map(({ name, value }) => [name, value]))
}
