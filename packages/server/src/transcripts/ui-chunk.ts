/**
 * The chunks of an AI SDK UI message stream that Parley sends. Readers of version 6.0.0 refuse unknown fields, so
 * Parley sends only chunks that this version shares with all later versions. The one exception is
 * `tool-approval-response`, which is sent only to readers of version 7, because other readers do not support it.
 */
export type UiChunk =
  // message
  | { type: 'start'; messageId: string; messageMetadata: UiMetadata }
  | { type: 'message-metadata'; messageMetadata: UiMetadata }
  | { type: 'finish'; finishReason: FinishReason; messageMetadata: UiMetadata }
  | { type: 'abort' }
  | { type: 'error'; errorText: string }
  // step
  | { type: 'start-step' }
  | { type: 'finish-step' }
  // block
  | { type: 'text-start' | 'reasoning-start'; id: string; providerMetadata: BlockMetadata }
  | { type: 'text-delta' | 'reasoning-delta'; id: string; delta: string }
  | { type: 'text-end' | 'reasoning-end'; id: string }
  | { type: 'file'; url: string; mediaType: string }
  // tool call
  | ({ type: 'tool-input-start' } & ToolNames)
  | { type: 'tool-input-delta'; toolCallId: string; inputTextDelta: string }
  | ({ type: 'tool-input-available'; input: unknown } & ToolNames)
  | ({ type: 'tool-input-error'; input: unknown; errorText: string } & ToolNames)
  | { type: 'tool-output-available'; toolCallId: string; output: unknown; preliminary?: true }
  | { type: 'tool-output-error'; toolCallId: string; errorText: string }
  | { type: 'tool-output-denied'; toolCallId: string }
  // approval
  | { type: 'tool-approval-request'; approvalId: string; toolCallId: string }
  | { type: 'tool-approval-response'; approvalId: string; approved: boolean; reason?: string }
  // Parley's own data.
  | DataChunk

/**
 * Every tool is dynamic, because an agent's tools are known only when it runs. All except questions are executed by
 * the server (`providerExecuted`): a page must neither run them nor wait for its own result.
 */
export type ToolNames = {
  toolCallId: string
  toolName: string
  title?: string
  dynamic: true
  providerExecuted: boolean
}

export type DataChunk = { type: `data-${string}`; id: string; data: unknown }
export type FinishReason = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other'
export type BlockMetadata = { parley: { blockId: string } }

/**
 * The metadata of a message. `cursor` is the position in the log up to which its parts contain the events; it is null
 * until the response pauses or ends. `unfinished` gives, for each block that is still being written at that position,
 * the length of its text in the message.
 */
export type UiMetadata = {
  session?: string
  agent?: string
  model?: string
  startedAt?: number
  cursor?: number | null
  unfinished?: Record<string, number>
  outcome?: string
  stopReason?: string
  error?: { code: string; message: string }
  usage?: unknown
  context?: unknown
  costUsd?: number
  notionalCost?: true
  durationMs?: number
  structuredOutput?: unknown
}

/** The name of the tool that represents a question to the person; the page provides its output. */
export const questionTool = 'question'
