import { randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import {
  CallToolRequestSchema,
  type CallToolResult,
  ListToolsRequestSchema,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js'
import { hostToolName, type ToolKind } from '@parley/protocol'
import {
  type HostToolAnswer,
  type HostToolContent,
  type HostToolInfo,
  type HostTools,
  hostToolServer,
} from './agent-adapter.ts'

/** Host tools by the names under which agents call them. */
export type HostToolNames = ReadonlyMap<
  string,
  { readonly name: string; readonly title: string; readonly kind: ToolKind; readonly readOnly: boolean }
>

export function hostToolNames(hostTools: HostTools | undefined): HostToolNames {
  const tools = hostTools?.tools ?? []
  return new Map(
    tools.map(({ name, annotations: { title, kind, readOnly } }) => [
      `mcp__${hostToolServer}__${name}`,
      { name: hostToolName(name), title, kind, readOnly },
    ]),
  )
}

/** Returns the tool call of the agent that a request belongs to, from the metadata of the request. */
export type CallOf = (
  meta: Readonly<Record<string, unknown>>,
) => Promise<{ toolCallId?: string; parentToolCallId?: string }>

/**
 * The host tools of a session as an MCP server, for one client. The agent gets the schema unchanged; the tools
 * validate their input themselves.
 */
export function createHostToolServer(
  hostTools: HostTools,
  options: {
    callOf?: CallOf
    /** Metadata attached to each tool in the list. */
    meta?: Readonly<Record<string, unknown>>
    answered?: (answer: HostToolAnswer, toolCallId: string | undefined) => void
  } = {},
): McpServer {
  const server = new McpServer({ name: hostToolServer, version: '1.0.0' }, { capabilities: { tools: {} } })
  const tools = hostTools.tools.map((tool) => described(tool, options.meta))
  server.server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }))
  server.server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal, _meta }) => {
    const call = (await options.callOf?.(_meta ?? {})) ?? {}
    const answer = await hostTools.call(params.name, params.arguments ?? {}, { ...call, signal })
    options.answered?.(answer, call.toolCallId)
    return nativeResult(answer)
  })
  return server
}

function described({ name, description, inputSchema, annotations }: HostToolInfo, meta?: object): Tool {
  return {
    name,
    description,
    inputSchema: inputSchema as Tool['inputSchema'],
    annotations: { title: annotations.title, readOnlyHint: annotations.readOnly },
    ...(meta && { _meta: { ...meta } }),
  }
}

function nativeResult({ content, isError }: HostToolAnswer): CallToolResult {
  return { content: content.map(nativeContent), ...(isError && { isError }) }
}

function nativeContent(content: HostToolContent): CallToolResult['content'][number] {
  if (content.type !== 'resource') return content
  const { uri, mimeType, text } = content
  const about = { uri, ...(mimeType !== undefined && { mimeType }) }
  if (text === undefined) return { type: 'resource_link', name: uri, ...about }
  return { type: 'resource', resource: { ...about, text } }
}

export type RunningHostToolServer = {
  readonly url: string
  /** Requests without these headers are refused. */
  readonly headers: Readonly<Record<string, string>>
  /** Stops the server and aborts running calls. Idempotent. */
  close(): Promise<void>
}

/**
 * Serves the host tools over HTTP on loopback, for agents that accept MCP servers only by URL. Each MCP session gets a
 * server of its own.
 */
export async function startHostToolServer(
  hostTools: HostTools,
  options: Parameters<typeof createHostToolServer>[1] = {},
): Promise<RunningHostToolServer> {
  const authorization = `Bearer ${randomBytes(32).toString('base64url')}`
  const clients = new Map<string, StreamableHTTPServerTransport>()
  let hosts: readonly string[] = []

  async function newClient(): Promise<StreamableHTTPServerTransport> {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void clients.set(id, transport),
      onsessionclosed: (id) => void clients.delete(id),
    })
    // Only the types differ: the handlers of the transport may be undefined, those of the interface may not.
    await createHostToolServer(hostTools, options).connect(transport as Parameters<McpServer['connect']>[0])
    return transport
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refusal = refusalOf(request, authorization, hosts)
    if (refusal !== undefined) return void response.writeHead(refusal).end()
    const id = request.headers['mcp-session-id']
    const known = typeof id === 'string' ? clients.get(id) : undefined
    if (id !== undefined && !known) return void response.writeHead(404).end()
    const transport = known ?? (await newClient())
    await transport.handleRequest(request, response)
    if (transport.sessionId === undefined) await transport.close()
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  hosts = [`127.0.0.1:${port}`, `localhost:${port}`]

  return {
    url: `http://127.0.0.1:${port}/mcp`,
    headers: { authorization },
    async close() {
      const gone = new Promise((resolve) => server.close(resolve))
      await Promise.all([...clients.values()].map((transport) => transport.close()))
      clients.clear()
      server.closeAllConnections()
      await gone
    },
  }
}

/**
 * The HTTP status that refuses a request; undefined if it is accepted. Only the agent has the token. Requests from a
 * browser page, or with another Host header, are refused.
 */
function refusalOf(
  { url, headers }: IncomingMessage,
  authorization: string,
  hosts: readonly string[],
): number | undefined {
  if (headers.origin !== undefined || !hosts.includes(headers.host ?? '')) return 403
  if (!sameText(headers.authorization ?? '', authorization)) return 401
  return url === '/mcp' ? undefined : 404
}

function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
