import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { z } from 'zod'

/** An MCP server over stdio for agents under test. It returns its input, or the answer of a person. */
const server = new McpServer({ name: 'echo', version: '1.0.0' })
server.registerTool(
  'say',
  { description: 'Says it back', inputSchema: { words: z.string() }, annotations: { readOnlyHint: true } },
  ({ words }) => ({ content: [{ type: 'text', text: `The echo says ${words}` }] }),
)
server.registerTool('ask', { description: 'Asks the person', inputSchema: {} }, async () => {
  const requestedSchema = {
    type: 'object' as const,
    properties: { colour: { type: 'string' as const, enum: ['red', 'blue'] } },
    required: ['colour'],
  }
  const { action, content } = await server.server.elicitInput({ message: 'Which colour?', requestedSchema })
  return { content: [{ type: 'text', text: `The person says ${content?.colour ?? action}` }] }
})
await server.connect(new StdioServerTransport())
