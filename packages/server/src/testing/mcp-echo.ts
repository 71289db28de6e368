import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { z } from 'zod'

/** An MCP server over stdio with one tool, for agents under test: says back what it is given. */
const server = new McpServer({ name: 'echo', version: '1.0.0' })
server.registerTool(
  'say',
  { description: 'Says it back', inputSchema: { words: z.string() }, annotations: { readOnlyHint: true } },
  ({ words }) => ({ content: [{ type: 'text', text: `The echo says ${words}` }] }),
)
await server.connect(new StdioServerTransport())
