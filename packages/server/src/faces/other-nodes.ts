import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  Actor,
  pairingLetters,
  pairingNodeLength,
  type ReplyOf,
  type Route,
  type RouteName,
  type Terminal,
} from '@parley/protocol'
import type { Upgrade } from './sockets.ts'

/**
 * Access to the other nodes on the same database. Absent if this server is the only one on its store. A request that
 * another node sent is never passed on again.
 */
export type OtherNodes = {
  readonly tokens: SharedTokens
  /** The suffix of every id and code that only this node can serve. Other nodes find this node by the suffix. */
  suffix(): string
  /**
   * Passes a request on to the node that must answer it, and writes its answer. Returns false if this node must answer.
   * Throws ParleyError `busy` if the other node cannot be reached, and `conflict` with the detail `moved` if the
   * request was passed on to this node but belongs to another node.
   */
  answer(request: PassedRequest): Promise<boolean>
  /** Connects the socket with the terminal of another node. Returns false if only this node can have the terminal. */
  upgrade(terminalId: string, upgrade: Upgrade): Promise<boolean>
  /** The address of the client whose request a node has passed on. */
  clientAddress(incoming: IncomingMessage): string | undefined
  /**
   * Asks the node that has the snapshots of a session. Undefined if this node must answer. Throws ParleyError `busy` if no
   * node at the place of the session can be reached.
   */
  ask<Name extends RouteName>(
    sessionId: string,
    name: Name,
    asked: AskedOfNode,
  ): Promise<ReplyOf<Name> | undefined>
  /** The terminals that other nodes have opened for the session. */
  terminals(sessionId: string): Promise<Terminal[]>
}

/** The letters at the end of a pairing code that identify the node with this suffix. */
export function nodeLetters(suffix: string): string {
  const bits = Number.parseInt(suffix.slice(-8), 16)
  return Array.from({ length: pairingNodeLength }, (_, at) => pairingLetters[(bits >>> (5 * at)) & 31]).join(
    '',
  )
}

const actorHeader = 'parley-actor'

/** The header with the actor of a request that is passed on to another node. */
export function actorHeaders(actor: Actor | undefined): Record<string, string> {
  return actor ? { [actorHeader]: Buffer.from(JSON.stringify(actor)).toString('base64url') } : {}
}

/** The actor that another node has named in a request. The caller must have checked that a node sent the request. */
export function passedActor({ headers }: IncomingMessage): Actor | undefined {
  const text = headers[actorHeader]
  if (typeof text !== 'string') return undefined
  return Actor.parse(JSON.parse(Buffer.from(text, 'base64url').toString()))
}

export type AskedOfNode = Partial<Pick<PassedRequest, 'params' | 'query'>>

/** A request whose path, query and body are valid. */
export type PassedRequest = {
  readonly route: Route
  readonly params: Readonly<Record<string, unknown>> | undefined
  readonly query: Readonly<Record<string, unknown>> | undefined
  readonly body: unknown
  /** The actor that sent the request, for the events that the other node records. */
  readonly actor: Actor | undefined
  readonly isFromNode: boolean
  /** The address of the client, which the other node uses for its rate limits. */
  readonly address: string
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
}

/** Access tokens of devices that every node accepts. */
export type SharedTokens = {
  issue(deviceId: string, lifetimeMs: number): string
  /** The device of a valid access token; undefined for any other text. The device may be revoked. */
  deviceOf(token: string): string | undefined
}
