import { createCoreHost, type Host, type HostOptions } from './core/host.ts'
import { checkFolder } from './workspace/folder.ts'

export { type BuiltInAdapterOptions, builtInAdapters } from './adapters/index.ts'
export { createOutputQueue, type OutputQueue } from './adapters/output-queue.ts'
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
} from './core/agent-adapter.ts'
export type { AgentInstaller } from './core/agent-list.ts'
export type { Clock, Ids } from './core/clock.ts'
export type { EventsOptions, FeedOptions, FeedValue } from './core/feed-loop.ts'
export type { Host, HostOptions, SessionChange } from './core/host.ts'
export type { HostTool, HostToolContext } from './core/host-tool.ts'
export type { Limits } from './core/limits.ts'
export type { FeedBatch, FeedItem, FeedReader, FeedStart, FollowFrom } from './core/session-feed.ts'
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
export { createMemoryStore } from './stores/memory.ts'
export { openSqliteStore } from './stores/sqlite.ts'
export { defineTool, type ToolDefinition } from './tools/define-tool.ts'
export type { ToolReturn } from './tools/tool-result.ts'
export {
  type IncomingMessage,
  IncomingMessages,
  incomingMessagesOf,
} from './transcripts/incoming-messages.ts'
export { type RunEvent, runEventsOf } from './transcripts/run-events.ts'
export { type UiMessage, uiMessagesOf } from './transcripts/ui-messages.ts'

/** The library door: a host on the adapters and the store given to it. */
export function createHost(
  options: Omit<HostOptions, 'checkFolder'> & Partial<Pick<HostOptions, 'checkFolder'>>,
): Promise<Host> {
  return createCoreHost({ checkFolder, ...options })
}
