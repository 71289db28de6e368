/**
 * The part of the AI SDK's language model specification, version 3, that this face implements. AI SDK 6 uses this
 * version, AI SDK 7 accepts it. It is written out here so that programs without the AI SDK need none of its packages.
 * The tests check it against the types of both SDK versions.
 */
export type LanguageModel = {
  readonly specificationVersion: 'v3'
  readonly provider: string
  readonly modelId: string
  readonly supportedUrls: Record<string, RegExp[]>
  doGenerate(options: CallOptions): Promise<GenerateResult>
  doStream(options: CallOptions): Promise<StreamResult>
}

export type CallOptions = {
  prompt: Message[]
  tools?: Tool[] | undefined
  toolChoice?: { type: 'auto' | 'none' | 'required' } | { type: 'tool'; toolName: string } | undefined
  responseFormat?: ResponseFormat | undefined
  abortSignal?: AbortSignal | undefined
  includeRawChunks?: boolean | undefined
  providerOptions?: ProviderOptions | undefined
  /** A setting of AI SDK 7, which passes this setting to models of version 3 too. */
  reasoning?: string | undefined
} & { [Setting in UnsupportedSetting]?: unknown }

export type UnsupportedSetting =
  | 'maxOutputTokens'
  | 'temperature'
  | 'stopSequences'
  | 'topP'
  | 'topK'
  | 'presencePenalty'
  | 'frequencyPenalty'
  | 'seed'

export type ResponseFormat =
  | { type: 'text' }
  | { type: 'json'; schema?: unknown; name?: string | undefined; description?: string | undefined }

export type Tool = FunctionTool | { type: 'provider'; id: string; name: string }
export type FunctionTool = {
  type: 'function'
  name: string
  description?: string | undefined
  inputSchema: unknown
  providerOptions?: ProviderOptions | undefined
}

// Messages that the caller holds.

export type Message =
  | { role: 'system'; content: string }
  | UserMessage
  | { role: 'assistant'; content: AssistantPart[] }
  | { role: 'tool'; content: (ToolResultPart | { type: 'tool-approval-response' })[] }
export type UserMessage = { role: 'user'; content: (TextPart | FilePart)[] }
export type AssistantPart =
  | TextPart
  | FilePart
  | ToolCallPart
  | ToolResultPart
  | { type: 'reasoning'; text: string }
export type TextPart = { type: 'text'; text: string }
export type FilePart = {
  type: 'file'
  filename?: string | undefined
  mediaType: string
  data: Uint8Array | string | URL
}
export type ToolCallPart = {
  type: 'tool-call'
  toolCallId: string
  toolName: string
  input: unknown
  providerExecuted?: boolean | undefined
}
export type ToolResultPart = {
  type: 'tool-result'
  toolCallId: string
  toolName: string
  output: ToolOutput
}
export type ToolOutput =
  | { type: 'text' | 'error-text'; value: string }
  | { type: 'json' | 'error-json'; value: unknown }
  | { type: 'execution-denied'; reason?: string | undefined }
  | { type: 'content'; value: ContentOutput[] }
/** A part of a tool result. Text and images with data are passed to the agent as such, any other part as JSON. */
export type ContentOutput = {
  type: string
  text?: string | undefined
  data?: string | undefined
  mediaType?: string | undefined
}

// Parts that the caller receives.

export type StreamPart =
  | { type: 'stream-start'; warnings: Warning[] }
  | ({ type: 'response-metadata' } & ResponseMetadata)
  | { type: 'text-start' | 'reasoning-start'; id: string; providerMetadata?: ProviderData }
  | { type: 'text-delta' | 'reasoning-delta'; id: string; delta: string }
  | { type: 'text-end' | 'reasoning-end'; id: string }
  | ({ type: 'tool-input-start'; id: string; toolName: string; title?: string } & ByAgent)
  | { type: 'tool-input-delta'; id: string; delta: string }
  | { type: 'tool-input-end'; id: string }
  | ToolCall
  | ToolResult
  | File
  | { type: 'raw'; rawValue: unknown }
  | { type: 'error'; error: unknown }
  | ({ type: 'finish' } & Finish)

/** Marks calls that the agent runs itself: the caller must not run them and need not know the tool. */
export type ByAgent = { providerExecuted?: true; dynamic?: true }
export type ToolCall = {
  type: 'tool-call'
  toolCallId: string
  toolName: string
  /** The input as JSON text. */
  input: string
  providerMetadata?: ProviderData
} & ByAgent
export type ToolResult = {
  type: 'tool-result'
  toolCallId: string
  toolName: string
  result: NonNullable<Json>
  isError?: true
} & Pick<ByAgent, 'dynamic'>
export type File = { type: 'file'; mediaType: string; data: string }
export type Finish = { finishReason: FinishReason; usage: Usage; providerMetadata?: ProviderData }
export type ResponseMetadata = { id: string; timestamp: Date; modelId: string }
export type Content =
  | { type: 'text' | 'reasoning'; text: string; providerMetadata?: ProviderData }
  | ToolCall
  | ToolResult
  | File

export type FinishReason = {
  unified: 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other'
  raw: string | undefined
}
type Count = number | undefined
export type Usage = {
  inputTokens: { total: Count; noCache: Count; cacheRead: Count; cacheWrite: Count }
  outputTokens: { total: Count; text: Count; reasoning: Count }
}
export type Warning =
  | { type: 'unsupported' | 'compatibility'; feature: string; details?: string }
  | { type: 'other'; message: string }

export type Json = null | string | number | boolean | Json[] | { [key: string]: Json | undefined }
export type ProviderOptions = Record<string, Record<string, unknown>>
export type ProviderData = Record<string, { [key: string]: Json | undefined }>

export type StreamResult = { stream: ReadableStream<StreamPart> }
export type GenerateResult = Finish & {
  content: Content[]
  response: ResponseMetadata
  warnings: Warning[]
}
