import type { ServerResponse } from 'node:http'
import {
  type ChatRequest,
  type Delta,
  ParleyError,
  type SessionEvent,
  type SessionState,
  type UiMessage,
} from '@parley/protocol'
import type { Logger } from 'pino'
import type { Host } from '../../core/host.ts'
import { SessionFacts } from '../../transcripts/session-facts.ts'
import { TurnChunks, type TurnChunksOptions } from '../../transcripts/turn-chunks.ts'
import { UiMessages } from '../../transcripts/ui-messages.ts'
import { commandsFor } from './chat-answers.ts'
import { type ChatWish, placeOf, wishOf } from './chat-request.ts'
import { type ChatDefaults, checkSame, createSession, findSession } from './chat-session.ts'
import { ResponseStream, type StreamLimits } from './response-stream.ts'
import { eventsFrom, turnStart } from './turn-log.ts'

export type { ChatDefaults } from './chat-session.ts'

/** Where a response goes, and which generation of the AI SDK reads it. */
export type ChatReader = { readonly outgoing: ServerResponse; readonly sdk: 6 | 7 }

/** The AI SDK's UI message stream on sessions: a stock `useChat` of version 6 or 7 works with no code of ours in the page. */
export type ChatFace = {
  /** A prompt, or answers. Resolves when the response is under way; rejects, unwritten, with what refuses it. */
  send(body: ChatRequest, reader: ChatReader): Promise<void>
  /** The current response from its start. False, unwritten, if there is none. */
  resume(chatId: string, reader: ChatReader): Promise<boolean>
  /** Cancels the turn that runs, if one does. */
  stop(chatId: string): Promise<void>
  messages(chatId: string): Promise<UiMessage[]>
  /** Breaks off every response. */
  close(): void
}

export type ChatFaceOptions = {
  readonly host: Host
  readonly logger: Logger
  readonly defaults?: ChatDefaults
  readonly limits?: Partial<StreamLimits>
}

const usualLimits: StreamLimits = { heartbeatMs: 15_000, bufferBytes: 8 * 1024 * 1024, lingerMs: 250 }

type Wish<Kind extends ChatWish['kind']> = Extract<ChatWish, { kind: Kind }>
type Follow = {
  readonly sessionId: string
  readonly after: number
  readonly facts: SessionFacts
  readonly of: { readonly promptId: string } | { readonly turnId: string }
  readonly has?: TurnChunksOptions['has']
}

export function createChatFace({ host, logger, defaults = {}, ...given }: ChatFaceOptions): ChatFace {
  const limits = { ...usualLimits, ...given.limits }
  const streams = new Set<ResponseStream>()

  async function follow({ outgoing, sdk }: ChatReader, wanted: Follow): Promise<void> {
    const { sessionId, after, facts, of, has } = wanted
    if (outgoing.destroyed) return
    const stream = new ResponseStream({
      outgoing,
      logger,
      limits,
      facts,
      of,
      options: { sdk, ...(has && { has }) },
    })
    streams.add(stream)
    outgoing.once('close', () => streams.delete(stream))
    try {
      await host.follow(sessionId, { after, signal: stream.signal }, stream)
    } catch (error) {
      if (!outgoing.headersSent) {
        stream.finish()
        throw error
      }
      logger.error({ err: error, session: sessionId }, 'a response broke off')
      stream.break()
    }
  }

  async function submit(
    body: ChatRequest,
    { message, parts }: Wish<'prompt'>,
    reader: ChatReader,
  ): Promise<void> {
    const known = await findSession(host, body.id)
    if (known) await checkSame(known, body)
    const { id } = known ?? (await createSession(host, body, defaults))
    const before = await host.state(id)
    const command = (name: string) => `chat:${message.id}${name}`
    await configure(host, before, body, command(':configure'))
    const submitted = await host.command(id, {
      type: 'prompt.submit',
      commandId: command(''),
      messageId: message.id,
      parts,
    })
    const { promptId = '', seq } = submitted
    const isRepeat = seq <= before.seq
    if (!isRepeat) await giveUpWaiting(host, id, before, command(':cancel'))
    await follow(reader, {
      sessionId: id,
      after: seq - 1,
      facts: new SessionFacts(id, before),
      of: { promptId },
    })
  }

  async function answer(
    body: ChatRequest,
    { message, given }: Wish<'answers'>,
    reader: ChatReader,
  ): Promise<void> {
    const state = await findSession(host, body.id)
    const start = state && (await turnStart(host, state, message.id))
    if (!state || start === undefined) {
      throw new ParleyError(
        'not_found',
        'The message that is answered is none of this chat. Reload the chat.',
        {
          details: { message: message.id },
        },
      )
    }
    const has = placeOf(message)
    if (!has || has.cursor < start || has.cursor > state.seq) {
      throw new ParleyError(
        'conflict',
        'This page has only a part of the message that it answers. Resume the chat first (resumeStream), then answer.',
      )
    }
    const turn = new TurnChunks(message.id, new SessionFacts(state.id))
    for await (const event of eventsFrom(host, state.id, start)) turn.take(event)
    turn.settle()
    for (const command of commandsFor(given, turn.requests, body.permissions)) {
      await host.command(state.id, command)
    }
    await follow(reader, {
      sessionId: state.id,
      after: start - 1,
      facts: new SessionFacts(state.id, state),
      of: { turnId: message.id },
      has,
    })
  }

  return {
    async send(body, reader) {
      const wish = wishOf(body)
      await (wish.kind === 'prompt' ? submit(body, wish, reader) : answer(body, wish, reader))
    },
    async resume(chatId, reader) {
      const state = await findSession(host, chatId)
      const start = state?.turn && (await turnStart(host, state, state.turn.turnId))
      if (!state?.turn || start === undefined) return false
      const facts = new SessionFacts(state.id, state)
      await follow(reader, {
        sessionId: state.id,
        after: start - 1,
        facts,
        of: { turnId: state.turn.turnId },
      })
      return true
    },
    async stop(chatId) {
      const state = await findSession(host, chatId)
      if (!state) throw new ParleyError('not_found', `There is no chat ${chatId}.`)
      if (state.turn) await cancel(host, state.id, state.turn.turnId, `chat:stop:${state.turn.turnId}`)
    },
    async messages(chatId) {
      const state = await findSession(host, chatId)
      return state ? messagesOf(host, state.id) : []
    },
    close() {
      for (const stream of streams) stream.break()
    },
  }
}

/** A page that sends another model or mode with a prompt wants it from there on. */
async function configure(
  host: Host,
  state: SessionState,
  body: ChatRequest,
  commandId: string,
): Promise<void> {
  const { model, mode } = body
  const changed = {
    ...(model !== undefined && model !== state.requested.model && { model }),
    ...(mode !== undefined && mode !== state.requested.mode && { mode }),
  }
  if (Object.keys(changed).length === 0) return
  await host.command(state.id, { type: 'session.configure', commandId, ...changed })
}

/** Who goes on with a message instead of answering wants no answer any more: the turn that asked would block the new one. */
async function giveUpWaiting(host: Host, id: string, before: SessionState, commandId: string): Promise<void> {
  if (!before.turn || before.requests.length === 0) return
  const { turn, requests } = await host.state(id)
  if (turn?.turnId !== before.turn.turnId || requests.length === 0) return
  await cancel(host, id, turn.turnId, commandId)
}

/** A turn that is over meanwhile needs no cancelling. */
async function cancel(host: Host, id: string, turnId: string, commandId: string): Promise<void> {
  try {
    await host.command(id, { type: 'turn.cancel', commandId, turnId })
  } catch (error) {
    const { turn } = await host.state(id)
    if (turn?.turnId === turnId) throw error
  }
}

/** From the log and what is being written now, as a page holds it that has just resumed. */
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
