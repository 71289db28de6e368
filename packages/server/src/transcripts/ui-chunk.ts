/**
 * The chunks of an AI SDK UI message stream that Parley sends: the slice of them that version 6.0.0, whose readers refuse
 * any field they do not know, has in common with all later ones. `tool-approval-response` is the one exception: only
 * readers of version 7 know it, so it goes only to those.
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
  // data of our own
  | DataChunk

/**
 * Every tool is dynamic: which tools an agent has is known only when it runs. And all but questions are executed by the
 * other side (`providerExecuted`): a page must neither run them nor wait for its own result of them.
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
 * What a message says of itself. `cursor` is how far in the log its parts reach, once they reach a place where the
 * response can go on later; `unfinished` how much it has of blocks that are still being written there.
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

/** The name of the tool that a question to the person is: the page gives its output. */
export const questionTool = 'question'
