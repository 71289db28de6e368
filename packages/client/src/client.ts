import {
  defined,
  type NewRoundInput,
  type NewSessionInput,
  newId,
  ParleyError,
  type Round,
  type SessionEvent,
  type SessionState,
  type UnknownEvent,
} from '@parley/protocol'
import { type Access, createAccess } from './access.ts'
import { type BackoffOptions, createBackoff } from './backoff.ts'
import type { ClientParts } from './client-parts.ts'
import { type Clock, systemClock } from './clock.ts'
import { type Commands, createCommands } from './command.ts'
import { type Credential, createCredential, type TokenSource } from './credential.ts'
import { createFeedIterator, type FeedItem } from './feed-iterator.ts'
import { createFollow } from './follow.ts'
import { asParleyError, type Call, createHttp, type Http } from './http.ts'
import type { FollowOptions } from './reader.ts'
import { createSessionList, type SessionList, type SessionListOptions } from './session-list.ts'
import { createMirror, type Mirror, type MirrorOptions } from './session-mirror.ts'
import { createSocket } from './socket.ts'
import { type TerminalListener, type TerminalWatch, watchTerminal } from './terminal.ts'
import { createWaitingList, type WaitingList } from './waiting-list.ts'
import { type ChangesListener, watchChanges } from './watch-changes.ts'

export type ClientOptions = {
  /** The address of the server, e.g. http://127.0.0.1:4747 */
  readonly url: string
  /**
   * The server's token, or a function that returns the current token, such as the access token of a device.
   */
  readonly token?: TokenSource | undefined
  /** The name of the client. It is sent to the server, which writes it to its log. */
  readonly name?: string
  readonly fetch?: typeof fetch
  readonly WebSocket?: typeof WebSocket
  readonly clock?: Clock
  readonly backoff?: BackoffOptions
}

/** All operations on a Parley server. The client connects when something is first followed. */
export type Client = ClientParts &
  Commands & {
    readonly call: Call
    readonly access: Access
    createSession(input: NewSessionInput, options?: { signal?: AbortSignal }): Promise<SessionState>
    /** Gives one prompt to several agents, each in a worktree of its own. */
    createRound(input: NewRoundInput, options?: { signal?: AbortSignal }): Promise<Round>
    /**
     * The recorded and live items of a session, as an async iterable. If the signal aborts, the iterable ends
     * without an error.
     */
    feed(sessionId: string, options?: FollowOptions): AsyncIterableIterator<FeedItem, undefined>
    /** Like `feed`, but yields only the events. If `seq` returns to 1, the log was rewritten. */
    events(
      sessionId: string,
      options?: FollowOptions,
    ): AsyncIterableIterator<SessionEvent | UnknownEvent, undefined>
    mirror(sessionId: string, options?: MirrorOptions): Mirror
    sessions(options?: SessionListOptions): SessionList
    waiting(): WaitingList
    /** Watches a running terminal; `call('openTerminal', …)` opens a terminal. */
    watchTerminal(terminalId: string, listener: TerminalListener): TerminalWatch
    /**
     * Reports when files in the session's folder change; `call('listChanges', …)` lists the differences. The returned
     * function ends the watch.
     */
    watchChanges(sessionId: string, listener: ChangesListener): () => void
    /** Ends every follow, mirror, list and pending command, and the connection. */
    close(): void
    [Symbol.dispose](): void
  }

export function createClient(options: ClientOptions): Client {
  const { clock = systemClock } = options
  const credential = createCredential(options.token)
  const http = createHttp({
    url: options.url,
    token: options.token,
    ...(options.fetch && { fetch: options.fetch }),
  })
  const socket = createSocket({
    url: http.url,
    token: options.token,
    ...defined({ WebSocket: options.WebSocket, name: options.name }),
    probe: () => probe(http, credential),
    clock,
    backoff: createBackoff(options.backoff),
  })
  const controller = new AbortController()
  const follow = createFollow({ socket, clock })
  const parts: ClientParts = { http, socket, follow, clock, closing: controller.signal }

  const close = () => {
    controller.abort()
    socket.close()
  }
  return {
    ...parts,
    ...createCommands(parts),
    call: http.call,
    access: createAccess(http.call),
    createSession: (input, given) =>
      http.call('createSession', { body: { commandId: newId('cmd'), ...input }, signal: given?.signal }),
    createRound: (input, given) =>
      http.call('createRound', { body: { commandId: newId('cmd'), ...input }, signal: given?.signal }),
    feed: (sessionId, given) => createFeedIterator(follow, sessionId, { ...given, pick: (item) => item }),
    events: (sessionId, given) => createFeedIterator(follow, sessionId, { ...given, pick: eventOf }),
    mirror: (sessionId, given) => createMirror(parts, sessionId, given),
    sessions: (given) => createSessionList(parts, given),
    waiting: () => createWaitingList(parts),
    watchTerminal: (terminalId, listener) => {
      const server = { url: http.url, WebSocket: options.WebSocket, token: options.token }
      const target = { ...server, clock, closing: controller.signal, probe: () => probe(http, credential) }
      return watchTerminal({ ...target, backoff: createBackoff(options.backoff) }, terminalId, listener)
    },
    watchChanges: (sessionId, listener) => watchChanges(parts, sessionId, listener, options.backoff),
    close,
    [Symbol.dispose]: close,
  }
}

const eventOf = (item: FeedItem) => (item.type === 'event' ? item.event : undefined)

/**
 * Returns the reason why the socket could not be opened, as an error. Undefined if the token was refused and has been
 * renewed since.
 */
async function probe(http: Http, credential: Credential): Promise<ParleyError | undefined> {
  const timeoutMs = 5_000
  try {
    // The token is requested first: its source may check the server, and rejects if another program answers
    // at this address.
    const before = await credential.token()
    await http.call('health', { timeoutMs })
    await http.call('listSessions', { query: { limit: 1 }, timeoutMs })
    if ((await credential.token()) !== before) return undefined
    const message = `The server at ${http.url} answers, but a WebSocket connection to it fails. Check whether a proxy blocks WebSockets.`
    return new ParleyError('busy', message)
  } catch (thrown) {
    return asParleyError(thrown)
  }
}
