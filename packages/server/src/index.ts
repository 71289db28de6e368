export type {
  AgentAdapter,
  AgentConnection,
  AgentMessage,
  AgentOutput,
  ConnectInput,
  HostToolAnnotations,
  HostToolAnswer,
  HostToolContent,
  HostToolInfo,
  HostToolResult,
  HostTools,
  PermissionAnswer,
  PermissionAsk,
  Person,
  QuestionAnswer,
  QuestionAsk,
} from '@parley/adapter-kit'
export { createOutputQueue, type OutputQueue } from '@parley/adapter-kit/output-queue'
export type { FeedValue } from '@parley/protocol'
export type { Principal } from './access/index.ts'
export { type AcpAdapterOptions, type AcpAgent, createAcpAdapter } from './adapters/acp/index.ts'
export { type BuiltInAdapterOptions, builtInAdapters } from './adapters/index.ts'
export { type AgentInstallerOptions, createAgentInstaller } from './agent-installer.ts'
export type { AccessKind, AccessRecord, AccessStore } from './core/access-store.ts'
export type { AlertStore } from './core/alert-store.ts'
export type { DecisionLinkRecord, DecisionLinkStore } from './core/decision-link-store.ts'
export type {
  AgentInstaller,
  Clock,
  EncodedItem as FeedItem,
  EventsOptions,
  FeedBatch,
  FeedOptions,
  FeedReader,
  FeedStart,
  FollowFrom,
  Host,
  HostOptions,
  HostTool,
  HostToolContext,
  Ids,
  Limits,
  SearchQuery,
  SessionChange,
} from './core/index.ts'
export type { SearchIndex } from './core/search-index.ts'
export type {
  AppendBatch,
  CreateBatch,
  ReadRange,
  SessionPage,
  SessionQuery,
  SessionRecord,
  SessionStore,
  StoredEvent,
  StoredReceipt,
} from './core/session-store.ts'
export type { ViewedStore } from './core/viewed-store.ts'
export { type CreateHostOptions, createHost } from './create-host.ts'
export { createMemoryStore } from './stores/memory.ts'
export { createMemorySearch } from './stores/memory-search.ts'
export { openSqliteStore } from './stores/sqlite.ts'
export { createSqliteSearch } from './stores/sqlite-search.ts'
export {
  type CommandMessage,
  channelNames,
  createTelemetry,
  type EventMessage,
  type SessionMessage,
  type Telemetry,
  type TelemetryOptions,
} from './telemetry/index.ts'
export { defineTool, type ToolDefinition } from './tools/define-tool.ts'
export type { ToolInput } from './tools/tool-input.ts'
export type { ToolReturn } from './tools/tool-result.ts'
export {
  type IncomingMessage,
  IncomingMessages,
  incomingMessagesOf,
} from './transcripts/incoming-messages.ts'
export { type RunEvent, runEventsOf } from './transcripts/run-events.ts'
export { type UiMessage, uiMessagesOf } from './transcripts/ui-messages.ts'
