import { z } from 'zod'
import { AgentId, SessionId } from './ids.ts'

/** A conversation that the agent itself stores on this machine, started in its own program or elsewhere. */
export const AgentConversation = z.object({
  agentSessionId: z.string(),
  cwd: z.string(),
  title: z.string(),
  updatedAt: z.number(),
  sessionId: SessionId.optional().meta({
    description: 'The session into which the conversation was imported',
  }),
})
export type AgentConversation = z.infer<typeof AgentConversation>

export const NewImport = z.strictObject({ agent: AgentId, agentSessionId: z.string().min(1) })
export type NewImport = z.infer<typeof NewImport>
