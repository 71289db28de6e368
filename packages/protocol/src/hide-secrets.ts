import type { McpServer, McpServers } from './mcp-server.ts'

/** The replacement for a value that only the agent may see. */
export const hidden = '***'

/**
 * Returns MCP servers without secrets. Values are removed; names and types are kept. Of arguments, only the names of
 * long options are kept; of an address, only its host. The result is valid, but not usable.
 */
export function hideSecrets(servers: McpServers): McpServers {
  return Object.fromEntries(Object.entries(servers).map(([name, server]) => [name, hideServer(server)]))
}

/** True if `hideSecrets` replaced a value of the server: such a server must not be started. */
export function hasHidden(server: McpServer): boolean {
  return JSON.stringify(server).includes(hidden)
}

function hideServer(server: McpServer): McpServer {
  if (!('command' in server)) {
    const { headers, url } = server
    return { ...server, url: hideAddress(url), ...(headers && { headers: hideValues(headers) }) }
  }
  const { args, env } = server
  return {
    ...server,
    ...(args && { args: args.map(hideArgument) }),
    ...(env && { env: hideValues(env) }),
  }
}

function hideValues(values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.keys(values).map((name) => [name, hidden]))
}

function hideArgument(argument: string): string {
  const [, name, rest] = /^(--[a-z][a-z-]*)(=.*)?$/is.exec(argument) ?? []
  if (name === undefined) return hidden
  return rest === undefined ? name : `${name}=${hidden}`
}

function hideAddress(url: string): string {
  if (!URL.canParse(url)) return hidden
  const { protocol, host, pathname, search } = new URL(url)
  return `${protocol}//${host}/${pathname === '/' && search === '' ? '' : hidden}`
}
