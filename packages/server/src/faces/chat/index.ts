import type { ServerResponse } from 'node:http'
import {
  type ChatRequest,
  type Delta,
  ParleyError,
  type SessionEvent,
  type UiMessage,
} from '@parley/protocol'
import type { Logger } from 'pino'
import type { Host } from '../../core/index.ts'
import { SessionFacts } from '../../transcripts/session-facts.ts'
import { UiMessages } from '../../transcripts/ui-messages.ts'
import { answer } from './answer.ts'
import { cancel } from './cancel.ts'
import { intentOf } from './chat-request.ts'
import { type ChatDefaults, findSession } from './chat-session.ts'
import { type ChatResponse, ResponseStream, type StreamLimits } from './response-stream.ts'
import { submit } from './submit.ts'
import { turnStart } from './turn-log.ts'

export type { ChatDefaults } from './chat-session.ts'

/** The response object to write to, the major version of the AI SDK that reads it, and the host for its principal. */
export type ChatReader = { readonly outgoing: ServerResponse; readonly sdk: 6 | 7; readonly host: Host }

/**
 * The AI SDK's UI message stream for sessions. A stock `useChat` of version 6 or 7 works without Parley code in the
 * page.
 */
export type ChatFace = {
  /**
   * Accepts a prompt or answers. Resolves when the response has started. If they are refused, rejects before anything
   * is written.
   */
  send(body: ChatRequest, reader: ChatReader): Promise<void>
  /** Writes the current response from its start. Returns false and writes nothing if there is none. */
  resume(chatId: string, reader: ChatReader): Promise<boolean>
  stop(chatId: string, host: Host): Promise<void>
  messages(chatId: string, host: Host): Promise<UiMessage[]>
  close(): void
}

export type ChatFaceOptions = {
  readonly logger: Logger
  readonly defaults?: ChatDefaults
  readonly limits?: Partial<StreamLimits>
}

const usualLimits: StreamLimits = { heartbeatMs: 15_000, bufferBytes: 8 * 1024 * 1024, lingerMs: 250 }

export function createChatFace({ logger, defaults = {}, ...given }: ChatFaceOptions): ChatFace {
  const limits = { ...usualLimits, ...given.limits }
  const streams = new Set<ResponseStream>()

  async function follow({ outgoing, sdk, host }: ChatReader, response: ChatResponse): Promise<void> {
    const { sessionId, after } = response
    if (outgoing.destroyed) return
    const stream = new ResponseStream({ outgoing, logger, limits, sdk, response })
    streams.add(stream)
    outgoing.once('close', () => streams.delete(stream))
    try {
      await host.follow(sessionId, { after, signal: stream.signal }, stream)
    } catch (error) {
      if (!outgoing.headersSent) {
        stream.finish()
        throw error
      }
      logger.error({ err: error, session: sessionId }, 'a response was interrupted')
      stream.break()
    }
  }

  return {
    async send(body, reader) {
      const { host } = reader
      const intent = intentOf(body)
      const response =
        intent.kind === 'prompt'
          ? await submit(host, { body, intent, defaults })
          : await answer(host, { body, intent })
      await follow(reader, response)
    },
    async resume(chatId, reader) {
      const { host } = reader
      const state = await findSession(host, chatId)
      const start = state?.turn && (await turnStart(host, state, state.turn.turnId))
      if (!state?.turn || start === undefined) return false
      const facts = new SessionFacts(state.id, state)
      const { turnId } = state.turn
      await follow(reader, { sessionId: state.id, after: start - 1, facts, target: { turnId } })
      return true
    },
    async stop(chatId, host) {
      const state = await findSession(host, chatId)
      if (!state) throw new ParleyError('not_found', `There is no chat ${chatId}.`)
      if (state.turn) {
        const { turnId } = state.turn
        await cancel(host, state.id, { turnId, commandId: `chat:stop:${turnId}`, pauseQueue: true })
      }
    },
    async messages(chatId, host) {
      const state = await findSession(host, chatId)
      return state ? messagesOf(host, state.id) : []
    },
    close() {
      for (const stream of streams) stream.break()
    },
  }
}

/** The messages from the log and the open blocks, equal to those of a page that has just resumed. */
async function messagesOf(host: Host, sessionId: string): Promise<UiMessage[]> {
  const messages = new UiMessages(sessionId)
  const enough = new AbortController()
  await host.follow(
    sessionId,
    { signal: enough.signal },
    {
      following: () => undefined,
      deliver(batch) {
        for (const { kind, json } of batch) {
          if (kind === 'event') messages.take(JSON.parse(json) as SessionEvent)
          if (kind === 'delta') messages.stream(JSON.parse(json) as Delta)
        }
      },
      caughtUp: () => enough.abort(),
      ended: () => undefined,
    },
  )
  return messages.all()
}
