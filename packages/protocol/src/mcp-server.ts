import { z } from 'zod'

export const McpServer = z.union([
  z.object({
    type: z.literal('stdio').optional(),
    command: z.string(),
    args: z.array(z.string()).optional(),
    env: z.record(z.string(), z.string()).optional(),
  }),
  z.object({
    type: z.enum(['http', 'sse']),
    url: z.url(),
    headers: z.record(z.string(), z.string()).optional(),
  }),
])
export type McpServer = z.infer<typeof McpServer>

export const McpServers = z.record(z.string(), McpServer)
export type McpServers = z.infer<typeof McpServers>
