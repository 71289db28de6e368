import type {
  CLIENT_METHODS,
  PROTOCOL_METHODS,
  SessionUpdate,
  Usage,
} from '@agentclientprotocol/sdk/unstable'

/**
 * The parts of the Agent Client Protocol that Parley uses, and the parts that it does not use, with the reason. The
 * types are not validated: a message of an agent may have more fields, fewer fields, or unknown types.
 */

export type NativeId = string | number
/** A message in either direction. */
export type Frame = { readonly from: 'agent' | 'host'; readonly message: NativeMessage }
export type NativeMessage = {
  readonly id?: NativeId | null
  readonly method?: string
  readonly params?: unknown
  readonly result?: unknown
  readonly error?: NativeError
}
export type NativeError = { readonly code?: number; readonly message?: string; readonly data?: unknown }
type Meta = { readonly _meta?: Readonly<Record<string, unknown>> | null }

// conversation
export type NativeContent = Meta & {
  readonly type: string
  readonly text?: string
  readonly mimeType?: string
  readonly data?: string
  readonly uri?: string
  readonly name?: string
  readonly resource?: { readonly uri?: string; readonly mimeType?: string; readonly text?: string }
}
export type NativeChunk = Meta & { readonly content: NativeContent; readonly messageId?: string | null }

// tool calls
export type NativeToolContent = {
  readonly type: string
  readonly content?: NativeContent
  readonly path?: string
  readonly oldText?: string | null
  readonly newText?: string
  readonly terminalId?: string
}
export type NativeCall = Meta & {
  readonly toolCallId: string
  readonly title?: string | null
  readonly name?: string | null
  readonly kind?: string | null
  readonly status?: string | null
  readonly content?: readonly NativeToolContent[] | null
  readonly locations?: readonly { readonly path: string; readonly line?: number | null }[] | null
  readonly rawInput?: unknown
  readonly rawOutput?: unknown
}
export type NativeOption = { readonly optionId: string; readonly name: string; readonly kind?: string }
export type NativePermission = Meta & {
  readonly sessionId: string
  readonly toolCall: NativeCall
  readonly options: readonly NativeOption[]
}
export type NativeOutcome = {
  readonly outcome?: { readonly outcome?: string; readonly optionId?: string }
}

// session
export type NativeModes = {
  readonly currentModeId: string
  readonly availableModes?: readonly { readonly id: string }[]
}
/** No longer in the protocol, but still used by Gemini. */
export type NativeModels = {
  readonly currentModelId?: string
  readonly availableModels?: readonly {
    readonly modelId: string
    readonly name: string
    readonly description?: string | null
  }[]
}
export type NativeChoice = {
  readonly value: string
  readonly name: string
  readonly description?: string | null
}
export type NativeConfig = {
  readonly id: string
  readonly category?: string | null
  readonly type?: string
  readonly currentValue?: string | boolean
  readonly options?: readonly (NativeChoice | { readonly options: readonly NativeChoice[] })[]
}
export type NativeSession = {
  readonly sessionId?: string
  readonly modes?: NativeModes | null
  readonly models?: NativeModels | null
  readonly configOptions?: readonly NativeConfig[] | null
}
export type NativeInitialized = {
  readonly protocolVersion?: number
  readonly agentInfo?: { readonly name?: string; readonly title?: string; readonly version?: string } | null
  readonly authMethods?: readonly { readonly id: string }[] | null
  readonly agentCapabilities?: NativeAbilities | null
}
export type NativeAbilities = Meta & {
  readonly loadSession?: boolean
  readonly promptCapabilities?: { readonly image?: boolean; readonly embeddedContext?: boolean } | null
  readonly mcpCapabilities?: { readonly http?: boolean; readonly sse?: boolean } | null
  readonly sessionCapabilities?: Readonly<Record<string, unknown>> | null
}
export type NativePromptResult = {
  readonly stopReason?: string
  readonly usage?: Partial<Usage> | null
  /** The field in which Gemini reports its token counts. */
  readonly _meta?: {
    readonly quota?: { readonly token_count?: { input_tokens?: number; output_tokens?: number } }
  } | null
}
export type UpdateKey = SessionUpdate['sessionUpdate']
/** The SDK's own type of an update. */
export type NativeUpdate<Key extends UpdateKey> = Extract<SessionUpdate, { sessionUpdate: Key }>
type ClientMethod =
  | (typeof CLIENT_METHODS)[keyof typeof CLIENT_METHODS]
  | (typeof PROTOCOL_METHODS)[keyof typeof PROTOCOL_METHODS]

/** Updates that intentionally produce no output. */
export const ignoredUpdates = {
  user_message_chunk:
    'an echo of a prompt that the host has recorded; in a replay, handled by the connection',
} as const satisfies Partial<Record<UpdateKey, string>>

/** Updates that need a capability which Parley does not offer. They are recorded whole as unrecognised. */
export const notOffered = {
  plan_update:
    'needs the client capability "plan", which is not offered because a session has only one plan in the log',
  plan_removed: 'needs the client capability "plan"',
  subagent_update:
    'needs the client capability "subagents", which is not offered because a session has only one conversation',
  session_message: 'needs the client capability "subagents"',
  session_message_chunk: 'needs the client capability "subagents"',
} as const satisfies Partial<Record<UpdateKey, string>>

/** The methods that an agent may call on the client, and the handling of each. */
export const clientMethods = {
  'session/update': 'translated',
  'session/request_permission': 'answered by a rule, the mode or a person',
  'fs/read_text_file': 'performed inside the folders of the session, unless a rule refuses it',
  'fs/write_text_file': 'performed inside the folders of the session, if it is allowed',
  'elicitation/create': 'answered by a person',
  'elicitation/complete': 'withdraws the question',
  'auth/status_update': 'translated',
  '$/cancel_request': 'withdraws a request',
  'terminal/create': 'refused: agents run commands themselves, after they have asked for permission',
  'terminal/output': 'refused: there are no terminals',
  'terminal/release': 'refused: there are no terminals',
  'terminal/wait_for_exit': 'refused: there are no terminals',
  'terminal/kill': 'refused: there are no terminals',
  'mcp/message': 'refused: MCP servers are given by their command or address',
} as const satisfies Record<ClientMethod, string>
