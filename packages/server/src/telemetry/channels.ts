import { type Channel, channel } from 'node:diagnostics_channel'
import type { Actor, CommandInput, ErrorInfo, Receipt, SessionEvent } from '@parley/protocol'
import type { SessionChange } from '../core/index.ts'

/** The channels of `node:diagnostics_channel` that a program can subscribe to, by name. */
export const channelNames = {
  /** An EventMessage for every event, once it is stored. */
  event: 'parley:event',
  /** A CommandMessage for every command, once it is accepted or refused. */
  command: 'parley:command',
  /** A SessionMessage for every session that was created, forked, imported, changed in the list, or deleted. */
  session: 'parley:session',
} as const

export type EventMessage = {
  /** Has `type`, `at`, `sessionId`, `turnId` and the fields of its type, e.g. `costUsd` for `turn.ended`. */
  readonly event: SessionEvent
  readonly agent: string
}

export type CommandMessage = {
  readonly sessionId: string
  /** The command as it was sent. A refused command may be invalid. */
  readonly command: CommandInput
  /** The sender of the command. Absent if a program called the host without a principal. */
  readonly actor?: Actor
  /** The time at which the command was received, in milliseconds since 1970. */
  readonly at: number
  /** The time until the command was in the log, or refused. */
  readonly durationMs: number
  readonly receipt?: Receipt
  readonly error?: ErrorInfo
}

export type SessionMessage = SessionChange

/** Holds references to the channels, because Node garbage-collects a channel without references. */
const held = {
  event: channel(channelNames.event),
  command: channel(channelNames.command),
  session: channel(channelNames.session),
}

/**
 * Publishes messages on the channels. Subscribers get a copy of each message, so that they cannot change data of the
 * server.
 */
export function createChannels(problem: (error: unknown) => void) {
  const publish = (to: Channel, message: object) => {
    if (to.hasSubscribers) deliver(to, JSON.parse(JSON.stringify(message)), problem)
  }
  return {
    /** True if the event channel has subscribers. Without subscribers, no message is built. */
    get hasEventSubscribers(): boolean {
      return held.event.hasSubscribers
    },
    event: (message: EventMessage) => publish(held.event, message),
    command: (message: CommandMessage) => publish(held.command, message),
    session: (message: SessionMessage) => publish(held.session, message),
  }
}

type Subscriber = (message: unknown, name: string | symbol) => unknown

/**
 * Like `publish`, but reports the error of a subscriber that fails. Node rethrows such an error as uncaught, which
 * would end the server. The field in which Node stores the subscribers is not documented; if it is missing, `publish`
 * is used.
 */
function deliver(to: Channel, message: unknown, problem: (error: unknown) => void): void {
  const { _subscribers: subscribers } = to as Channel & { _subscribers?: readonly Subscriber[] }
  if (!Array.isArray(subscribers)) return to.publish(message)
  for (const subscriber of subscribers as readonly Subscriber[]) {
    try {
      const promise = subscriber(message, to.name)
      if (promise instanceof Promise) promise.catch(problem)
    } catch (error) {
      problem(error)
    }
  }
}
