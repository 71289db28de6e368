/**
 * The slice of the AI SDK's language model specification, version 3, that the door speaks. AI SDK 6 is made for it, AI SDK 7
 * takes it as it is. Written down here, so that nobody needs a package of the AI SDK who does not use it; the tests hold it
 * against the types of both.
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
  /** Of AI SDK 7, which hands it to models of this version, too. */
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

// what the caller holds

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
/** Files come as data or as an address; what is neither text nor data is told to the agent as JSON. */
export type ContentOutput = {
  type: string
  text?: string | undefined
  data?: string | undefined
  mediaType?: string | undefined
}

// what it is given

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

/** Said of what the agent runs itself: the caller must neither run it nor know the tool. */
export type ByAgent = { providerExecuted?: true; dynamic?: true }
export type ToolCall = {
  type: 'tool-call'
  toolCallId: string
  toolName: string
  /** JSON. */
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
