import type {
  AGENT_METHODS,
  CLIENT_METHODS,
  PROTOCOL_METHODS,
  SessionUpdate,
} from '@agentclientprotocol/sdk/unstable'

/**
 * The parts of the Agent Client Protocol that we rely on, and those that we leave out, with the reason. Apart from the
 * lists these are types only: the messages of an agent may have more fields, fewer, or unknown types.
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
export type NativeCommand = {
  readonly name: string
  readonly description?: string
  readonly input?: { readonly hint?: string } | null
}
export type NativePlanEntry = {
  readonly content: string
  readonly status?: string
  readonly priority?: string
}
export type NativeUsage = {
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly cachedReadTokens?: number | null
  readonly cachedWriteTokens?: number | null
  readonly thoughtTokens?: number | null
}
export type NativeUsageUpdate = {
  readonly used?: number
  readonly size?: number
  readonly cost?: { readonly amount?: number; readonly currency?: string } | null
}
export type NativePromptResult = {
  readonly stopReason?: string
  readonly usage?: NativeUsage | null
  /** Gemini reports its token counts here. */
  readonly _meta?: {
    readonly quota?: { readonly token_count?: { input_tokens?: number; output_tokens?: number } }
  } | null
}
export type NativeNotice = {
  readonly severity?: string
  readonly title?: string
  readonly description?: string
}
export type NativeCompaction = {
  readonly compactionId: string
  readonly status: string
  readonly summary?: readonly NativeContent[] | null
  readonly error?: string | null
}

export type UpdateKey = SessionUpdate['sessionUpdate']
export type AgentMethod = (typeof AGENT_METHODS)[keyof typeof AGENT_METHODS]
export type ClientMethod =
  | (typeof CLIENT_METHODS)[keyof typeof CLIENT_METHODS]
  | (typeof PROTOCOL_METHODS)[keyof typeof PROTOCOL_METHODS]

/** Updates that deliberately give no output. */
export const ignoredUpdates = {
  user_message_chunk:
    'an echo of what the host has recorded as a prompt; in a replay, looked at by the connection',
} as const satisfies Partial<Record<UpdateKey, string>>

/** Updates that need a capability which Parley does not offer. They are recorded whole as unrecognised. */
export const notOffered = {
  plan_update: 'needs the client capability plan: several plans in a session have no place in the log',
  plan_removed: 'needs the client capability plan',
  subagent_update: 'needs the client capability subagents: a session has one conversation',
  session_message: 'needs the client capability subagents',
  session_message_chunk: 'needs the client capability subagents',
} as const satisfies Partial<Record<UpdateKey, string>>

/** The methods that an agent may call on the client, and what becomes of each. */
export const clientMethods = {
  'session/update': 'translated',
  'session/request_permission': 'answered by a rule, the mode or a person',
  'fs/read_text_file': 'done, inside the folders of the session, unless a rule refuses it',
  'fs/write_text_file': 'done, inside the folders of the session, when it is allowed',
  'elicitation/create': 'answered by a person',
  'elicitation/complete': 'takes the question back',
  'auth/status_update': 'translated',
  '$/cancel_request': 'takes a question back',
  'terminal/create': 'refused: agents run commands themselves, after they have asked',
  'terminal/output': 'refused: there are no terminals',
  'terminal/release': 'refused: there are no terminals',
  'terminal/wait_for_exit': 'refused: there are no terminals',
  'terminal/kill': 'refused: there are no terminals',
  'mcp/message': 'refused: MCP servers are given by their command or address',
} as const satisfies Record<ClientMethod, string>

/** The methods that Parley calls on agents, and those that it does not. */
export const agentMethods = {
  initialize: 'first of all',
  authenticate: 'when the agent says that it must be, and a variable of the environment says how',
  'session/new': 'begins a conversation',
  'session/load': 'resumes a session; its replay is recorded only when it is imported',
  'session/resume': 'resumes a session, if the agent cannot load it',
  'session/fork': 'begins with a copy of one',
  'session/prompt': 'a turn',
  'session/cancel': 'stops it',
  'session/set_mode': 'sets the mode',
  'session/set_config_option': 'sets the model, the effort, and the mode where that is an option',
  'session/close': 'before an idle process is let go',
  'session/list':
    'what can be imported; and whether the agent still has a conversation that it could not load',
  'session/delete': 'left out: the conversation in the agent belongs to the person',
  'session/archive': 'left out: sessions are archived in the host',
  'session/unarchive': 'left out: sessions are archived in the host',
  'session/set_title': 'left out: the title is the one of the host',
  'session/status': 'left out: the host knows whether a turn runs',
  logout: 'left out: people sign in and out with the program itself',
  'auth/status': 'left out: agents tell it by themselves, or when a session is made',
  'providers/list': 'left out: which service an agent uses is set in the agent',
  'providers/set': 'left out: which service an agent uses is set in the agent',
  'providers/disable': 'left out: which service an agent uses is set in the agent',
  'mcp/message': 'left out: MCP servers are given by their command or address',
} as const satisfies Record<AgentMethod, string>
