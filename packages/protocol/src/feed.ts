import { z } from 'zod'
import { Actor } from './actor.ts'
import { Command, Receipt } from './command.ts'
import { Delta } from './delta.ts'
import { ErrorInfo } from './error.ts'
import { SessionEvent, UnknownEvent } from './event.ts'
import { DeviceId, SessionId } from './ids.ts'
import { SessionSummary } from './session-summary.ts'
import { taggedUnion } from './tagged-union.ts'

/** The WebSocket frames: JSON objects with a `type`. A frame about a session names it in `session`. */

const session = { session: SessionId }

export const ClientFrame = taggedUnion('type', [
  /**
   * Introduces the client, and subscribes the socket to changes of the session list. The server answers with welcome.
   */
  z.object({ type: z.literal('hello'), client: z.string().optional() }),
  /** Requests the events after the cursor `after`, or all events if `after` is absent, and then live events. */
  z.object({
    type: z.literal('follow'),
    ...session,
    after: z.int().min(0).optional(),
    epoch: z.string().optional(),
    native: z.boolean().optional(),
  }),
  z.object({ type: z.literal('unfollow'), ...session }),
  z.object({
    type: z.literal('command'),
    ...session,
    command: Command,
    actor: Actor.optional().meta({
      description: 'Accepted only from another node, which has checked the sender',
    }),
  }),
  /**
   * Tells whether the page of this socket is visible. While a page of a person is visible, alerts are not pushed to the
   * browsers of that person. The value is valid for two minutes, so a visible page repeats it.
   */
  z.object({ type: z.literal('presence'), visible: z.boolean() }),
  z.object({ type: z.literal('ping'), id: z.union([z.string(), z.number()]).optional() }),
])
export type ClientFrame = z.infer<typeof ClientFrame>
export type ClientFrameInput = z.input<typeof ClientFrame>

export const ServerFrame = taggedUnion('type', [
  z.object({ type: z.literal('welcome'), version: z.string(), heartbeatMs: z.number() }),
  /**
   * replay: the events after the cursor follow. reset: the cursor does not belong to this log; the client must drop all
   * its data, and the whole log follows.
   */
  z.object({
    type: z.literal('following'),
    ...session,
    epoch: z.string(),
    head: z.int(),
    verdict: z.enum(['replay', 'reset']),
  }),
  z.object({ type: z.literal('event'), ...session, event: z.union([SessionEvent, UnknownEvent]) }),
  z.object({ type: z.literal('delta'), ...session, delta: Delta }),
  /** A native message of the agent. It is sent live only, to clients that requested native messages. */
  z.object({ type: z.literal('native'), ...session, native: z.unknown() }),
  /** All recorded events have been sent; the following frames are live. */
  z.object({ type: z.literal('caught-up'), ...session, seq: z.int() }),
  z.object({
    type: z.literal('receipt'),
    ...session,
    ...Receipt.partial({ seq: true }).shape,
    error: ErrorInfo.optional(),
  }),
  /** The session list changed; sent to every socket that sent hello. */
  z.object({
    type: z.literal('session-changed'),
    ...session,
    change: z.enum(['created', 'changed', 'deleted']),
    summary: SessionSummary.optional(),
  }),
  /** A device of the person of this socket was signed in, through any server on the same database. */
  z.object({ type: z.literal('device-added'), device: z.object({ deviceId: DeviceId, name: z.string() }) }),
  /** The client reads too slowly: `buffered` bytes wait to be sent. */
  z.object({ type: z.literal('lagging'), buffered: z.int(), limit: z.int() }),
  /**
   * The client read too slowly and is disconnected. It can follow again after these cursors: nothing is lost.
   */
  z.object({ type: z.literal('evicted'), cursors: z.record(SessionId, z.int()) }),
  z.object({ type: z.literal('pong'), id: z.union([z.string(), z.number()]).optional() }),
  z.object({ type: z.literal('error'), session: SessionId.optional(), error: ErrorInfo }),
])
export type ServerFrame = z.infer<typeof ServerFrame>

/** The values that a loop over a followed session yields, one at a time. */
export type FeedValue =
  | { readonly type: 'event'; readonly event: SessionEvent | UnknownEvent }
  /** Each delta starts where the previous one of its block ended, so a loop can print deltas as they come. */
  | { readonly type: 'delta'; readonly delta: Delta }
  /** A native message of the agent. It is yielded live only, to loops that requested native messages. */
  | { readonly type: 'native'; readonly native: unknown }
  /** The cursor does not belong to this log. The loop must drop all its data; the whole log follows. */
  | { readonly type: 'reset'; readonly epoch: string }
  /** All recorded events have been yielded; the following values are live. */
  | { readonly type: 'caught-up'; readonly seq: number }

/** The state of a follow over a connection. */
export type FollowStatus = 'connecting' | 'replaying' | 'live' | 'reconnecting'
