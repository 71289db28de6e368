import { z } from 'zod'
import { AgentId, RequestId } from './ids.ts'
import { PermissionMode, PermissionScope } from './permission.ts'

/** The requests of a page that uses the AI SDK. The server reads only the new parts of the messages. */

/** The page's own id of a chat, or the id of a session. */
export const ChatId = z.string().min(1).max(150).meta({ description: 'The id of a chat or of a session' })
export type ChatId = z.infer<typeof ChatId>

/**
 * The major version of the AI SDK that reads the response. The AI SDK does not send its version. Every version can read
 * the format of version 6.
 */
export const ChatSdk = z.enum(['6', '7'])
export type ChatSdk = z.infer<typeof ChatSdk>

export const UiMessage = z.looseObject({
  id: z.string(),
  role: z.enum(['system', 'user', 'assistant']),
  metadata: z.unknown().optional(),
  parts: z.array(z.looseObject({ type: z.string() })),
})
export type UiMessage = z.infer<typeof UiMessage>

/**
 * The parts of a decision that an approval of the AI SDK cannot express: its scope, the input as the person edited it,
 * and stopping the turn.
 */
export const ChatDecision = z.strictObject({
  scope: PermissionScope.optional(),
  input: z.unknown().optional(),
  endTurn: z.boolean().optional(),
})
export type ChatDecision = z.infer<typeof ChatDecision>

export const ChatRequest = z.strictObject({
  id: ChatId,
  messages: z.array(UiMessage).min(1).meta({ description: 'At least the last message' }),
  trigger: z.enum(['submit-message', 'regenerate-message']).default('submit-message'),
  messageId: z.string().optional().meta({ description: 'The message that is answered or replaced' }),
  agent: AgentId.optional().meta({ description: 'For a new chat; default: the configured agent' }),
  cwd: z.string().min(1).optional().meta({ description: 'For a new chat; default: the configured folder' }),
  model: z.string().optional().meta({ description: 'Applies from this prompt on' }),
  mode: PermissionMode.optional().meta({ description: 'Applies from this prompt on' }),
  permissions: z
    .record(RequestId, ChatDecision)
    .optional()
    .meta({ description: 'Details of the answers, by approval id' }),
})
export type ChatRequest = z.infer<typeof ChatRequest>
