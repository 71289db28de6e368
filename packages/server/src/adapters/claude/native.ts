import type {
  SDKMessage,
  SDKPartialAssistantMessage,
  SDKResultMessage,
  SDKResultSuccess,
  SDKUserMessage,
  SDKUserMessageReplay,
} from '@anthropic-ai/claude-agent-sdk'

/**
 * The messages of the Claude Agent SDK, and the messages that Parley ignores, with the reason. The types are not
 * validated: a message of the program may have more fields, fewer fields, or unknown types.
 */

/** The key of a message: its type, and for `system` also its subtype. */
type KeyOf<Message> = Message extends { type: 'system'; subtype: infer Subtype extends string }
  ? `system/${Subtype}`
  : Message extends { type: infer Type extends string }
    ? Type
    : never
export type NativeKey = KeyOf<SDKMessage>

/** The SDK's own type of the message with this key. */
export type NativeMessage<Key extends NativeKey> = Key extends `system/${infer Subtype}`
  ? Extract<SDKMessage, { type: 'system'; subtype: Subtype }>
  : Extract<SDKMessage, { type: Key }>

export type NativeAssistant = Omit<NativeMessage<'assistant'>, 'message'> & {
  readonly message: {
    readonly id: string
    readonly model: string
    readonly content: readonly NativeBlock[]
    readonly usage?: NativeUsage
  }
}
export type NativeUser = Omit<SDKUserMessage, 'message'> &
  Partial<Pick<SDKUserMessageReplay, 'isReplay'>> & {
    readonly message: { readonly content: string | readonly NativeBlock[] }
    /** Not declared in the SDK: the reason why a result does not come from the tool itself. */
    readonly tool_result_meta?: readonly NativeResultMeta[]
  }
export type NativeResultMeta = {
  readonly id: string
  /** `permission-rule`: refused by a person or a rule. `user-rejected`: the turn was stopped. */
  readonly non_execution_kind?: string
  readonly permission_decision?: { readonly decision?: 'accept' | 'reject' }
}
export type NativeStreamEvent = Omit<SDKPartialAssistantMessage, 'event'> & { readonly event: StreamEvent }
export type NativeResult = SDKResultMessage & {
  /**
   * Not declared in the SDK: the growth of `modelUsage` since the last result, including subagents. It is also
   * correct right after a resume.
   */
  readonly model_usage_since_last_result?: SDKResultSuccess['modelUsage']
}
/** Not in the SDK's union at 0.3.325, but sent for every prompt with a `uuid`. */
export type NativeCommandLifecycle = {
  readonly command_uuid: string
  readonly state: 'queued' | 'started' | 'completed' | 'cancelled'
}

/** A block of a message: from a model or a person, or the result of a tool. */
export type NativeBlock = {
  readonly type: string
  readonly text?: string
  readonly thinking?: string
  readonly id?: string
  readonly name?: string
  readonly server_name?: string
  readonly input?: unknown
  readonly tool_use_id?: string
  readonly content?: unknown
  readonly is_error?: boolean
  readonly source?: { readonly type?: string; readonly media_type?: string; readonly data?: string }
}

export type NativeUsage = {
  readonly input_tokens?: number | null
  readonly output_tokens?: number | null
  readonly cache_read_input_tokens?: number | null
  readonly cache_creation_input_tokens?: number | null
  readonly output_tokens_details?: { readonly thinking_tokens?: number | null } | null
}

/** The events of a streamed answer, as in the Messages API. `error` and `ping` are undeclared in the SDK. */
export type StreamEvent =
  | {
      readonly type: 'message_start'
      readonly message: { readonly id: string; readonly usage?: NativeUsage }
    }
  | { readonly type: 'content_block_start'; readonly index: number; readonly content_block: NativeBlock }
  | { readonly type: 'content_block_delta'; readonly index: number; readonly delta: StreamDelta }
  | { readonly type: 'content_block_stop'; readonly index: number }
  | { readonly type: 'message_delta'; readonly usage?: NativeUsage }
  | { readonly type: 'message_stop' }
  | { readonly type: 'ping' }
  | { readonly type: 'error'; readonly error?: { readonly type?: string; readonly message?: string } }
export type StreamDelta = {
  readonly type: string
  readonly text?: string
  readonly thinking?: string
  readonly partial_json?: string
}

export type NativeStreamEventType = SDKPartialAssistantMessage['event']['type']

/** Messages that intentionally produce no output. */
export const ignored = {
  'system/hook_started': 'system/hook_response reports how the hook ended; the start adds nothing',
  'system/hook_progress': 'system/hook_response repeats the whole output of the hook',
  'system/session_state_changed':
    'the host tracks whether a turn runs; sent only if an environment variable is set',
  'system/control_request_progress': 'progress of a control request (side_question) that we never make',
  'system/elicitation_complete': 'the connection has already sent the answer to the elicitation',
  tool_use_summary:
    'a summary, by a model, of calls that are recorded in full; sent only if an environment variable is set',
  prompt_suggestion: 'sent only with the option promptSuggestions, which adds calls to the model',
} as const satisfies Partial<Record<NativeKey, string>>

/** Frames that arrive although the SDK's union lacks them. */
export const ignoredFrames = {
  attachment: 'a note to the model when a deferred call continues, for example that a hook has run',
  active_goal: 'a goal set by a command of the terminal; not part of the conversation',
  keep_alive: 'a heartbeat without content',
  'system/ui_invalidate':
    'asks a terminal to redraw; comes from a process that was started ahead of its prompt',
} as const

/** Stream events that intentionally produce no output. */
export const ignoredStreamEvents = {
  content_block_stop: 'the whole block has already arrived as an assistant message',
  message_stop: 'message_delta reports the usage; the turn ends with the result',
} as const satisfies Partial<Record<NativeStreamEventType, string>>

/** Blocks of an assistant message that intentionally produce no output. */
export const ignoredBlocks: Readonly<Record<string, string>> = {
  container_upload: 'a file in a container of the API, which Claude Code does not use',
  compaction: 'compaction on the API side; compact_boundary reports what happened to the context',
  fallback: 'model_refusal_fallback reports which model continued',
  mcp_tool_listing: 'the tools of a remote MCP server; nothing was called',
}

/** The fields of `tool_use_result` that we read, by tool. Every field may be missing. */
export type NativeToolOutput = {
  // Bash
  readonly stdout?: string
  readonly stderr?: string
  readonly interrupted?: boolean
  readonly backgroundTaskId?: string
  // Edit, Write, NotebookEdit
  readonly type?: string
  readonly filePath?: string
  readonly content?: unknown
  readonly originalFile?: string | null
  readonly structuredPatch?: readonly PatchHunk[]
  readonly notebook_path?: string
  readonly original_file?: string
  readonly updated_file?: string
  // Agent
  readonly status?: string
  // TodoWrite, TaskCreate, TaskUpdate, TaskList
  readonly newTodos?: readonly { readonly content: string; readonly status: string }[]
  readonly task?: { readonly id: string; readonly subject: string; readonly status?: string } | null
  readonly taskId?: string
  readonly success?: boolean
  readonly statusChange?: { readonly to: string }
  readonly tasks?: readonly { readonly id: string; readonly subject: string; readonly status: string }[]
  // MCP tools
  readonly resourceLinks?: readonly { readonly uri: string; readonly mimeType?: string }[]
}

export type PatchHunk = {
  readonly oldStart: number
  readonly oldLines: number
  readonly newStart: number
  readonly newLines: number
  readonly lines: readonly string[]
}
