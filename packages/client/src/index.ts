export type { FollowStatus } from '@parley/protocol'
export type { Access } from './access.ts'
export { type Backoff, type BackoffOptions, createBackoff } from './backoff.ts'
export { type Client, type ClientOptions, createClient } from './client.ts'
export type { ClientParts } from './client-parts.ts'
export { type Clock, systemClock } from './clock.ts'
export {
  type CommandOptions,
  type Commands,
  createCommands,
  type DecisionOptions,
  type NewCommand,
} from './command.ts'
export type { TokenSource } from './credential.ts'
export type { FeedItem } from './feed-iterator.ts'
export { createFollow, type Follow } from './follow.ts'
export {
  type Call,
  type CallInput,
  createHttp,
  type Http,
  type HttpOptions,
  isUnreachable,
  type ServerSentEvent,
} from './http.ts'
export type { LiveStore, Schedule } from './live-store.ts'
export type { SessionTail } from './loaded-session.ts'
export type { FollowListener, FollowOptions } from './reader.ts'
export {
  createSessionList,
  type SessionList,
  type SessionListOptions,
  type SessionListQuery,
  type SessionListSnapshot,
} from './session-list.ts'
export { createMirror, type Mirror, type MirrorOptions, type MirrorSnapshot } from './session-mirror.ts'
export { createSocket, type Socket, type SocketOptions, type SocketStatus } from './socket.ts'
export type { TerminalListener, TerminalWatch } from './terminal.ts'
export { createWaitingList, type WaitingList, type WaitingListSnapshot } from './waiting-list.ts'
export type { ChangesListener } from './watch-changes.ts'
