/**
 * The interface of core for the other folders, in addition to the ports: the files with a comment that starts with
 * PORT. All other files of core, except test helpers, are internal.
 */
export type { AgentKeeper } from './agent-keeper.ts'
export { type AgentInstaller, unknownAgent } from './agent-list.ts'
export type { Clock, Ids } from './clock.ts'
export { createFeedLoops, type EventsOptions, type FeedOptions } from './feed-loop.ts'
export { isWithin } from './folder-trust.ts'
export { hashOf, sessionIdFrom } from './hash.ts'
export { createCoreHost, type Host } from './host.ts'
export { bothObservers, type HostObserver } from './host-observer.ts'
export type { HostOptions } from './host-options.ts'
export { type HostTool, type HostToolContext, nameProblem, type TemporaryFolders } from './host-tool.ts'
export { isTooDeep, maxJsonDepth } from './json-depth.ts'
export { defaultLimits, type Limits } from './limits.ts'
export type { OwnerCursor, OwnerFeed, OwnerReader } from './owner-feed.ts'
export { readEvents } from './read-events.ts'
export type { EncodedItem, FeedBatch, FeedReader, FeedStart, FollowFrom } from './session-feed.ts'
export { numbered } from './session-log.ts'
export type { SessionChange } from './session-news.ts'
export { isOutage } from './session-ownership.ts'
