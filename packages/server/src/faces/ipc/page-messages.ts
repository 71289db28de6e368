import {
  type Activity,
  type Delta,
  defined,
  isKnown,
  type PromptPart,
  promptText,
  type SessionEvent,
  type TurnEnd,
  type UnknownEvent,
} from '@parley/protocol'
import { type IncomingMessage, IncomingMessages } from '../../transcripts/incoming-messages.ts'

/** A message to a page: a message of a transcript, or a note, which only this face sends. */
export type PageMessage = IncomingMessage | PageNote

export type PageNote = { readonly at: number } & (
  | {
      /** A prompt that this page did not send. */
      readonly type: 'user_text'
      readonly msg_id: string
      readonly text: string
      readonly parts: readonly PromptPart[]
    }
  /** The request was resolved, by this client or another client. */
  | { readonly type: 'permission_resolved'; readonly id: string; readonly outcome: string }
  | { readonly type: 'activity'; readonly activity: Activity; readonly detail?: string }
  | ({ readonly type: 'turn_ended'; readonly turnId?: string } & Pick<
      TurnEnd,
      'outcome' | 'stopReason' | 'durationMs' | 'result' | 'structuredOutput'
    >)
)

export type PageMessagesOptions = {
  readonly isOwn: (messageId: string) => boolean
  /** Prompts up to this seq are all sent, because the page asked for the whole session. */
  readonly promptsUpTo?: number
}

/**
 * Converts the events and deltas of one session into messages. Holds state only for open blocks and requests.
 */
export class PageMessages {
  readonly #incoming = new IncomingMessages()
  readonly #options: PageMessagesOptions
  readonly #asked = new Set<string>()
  #connectionId: string | undefined
  /** The main agent's last text in the turn. It is the turn's result if the log has no other result. */
  #lastText: string | undefined
  #at = 0

  constructor(options: PageMessagesOptions) {
    this.#options = options
  }

  take(event: SessionEvent | UnknownEvent): PageMessage[] {
    this.#at = event.at
    const said = this.#noted(this.#incoming.take(event))
    if (!isKnown(event)) return said
    return this.#isRepeated(event) ? [] : [...said, ...this.#notes(event)]
  }

  stream(delta: Delta): PageMessage[] {
    if (delta.type !== 'activity.changed') return this.#incoming.stream(delta)
    const { activity, detail } = delta
    return [{ type: 'activity', at: this.#at, activity, ...(detail !== undefined && { detail }) }]
  }

  /** Called when no event follows directly. Sends a held request that is still undecided. */
  settle(): PageMessage[] {
    return this.#noted(this.#incoming.settle())
  }

  #noted(messages: IncomingMessage[]): IncomingMessage[] {
    for (const message of messages) if (message.type === 'permission_request') this.#asked.add(message.id)
    return messages
  }

  /** True if the agent sends `agent.connected` again, with more details. The page gets it only once. */
  #isRepeated(event: SessionEvent): boolean {
    if (event.type !== 'agent.connected') return false
    const repeated = event.connectionId === this.#connectionId
    this.#connectionId = event.connectionId
    return repeated
  }

  #notes(event: SessionEvent): PageNote[] {
    const { at } = event
    this.#lastText = lastTextAfter(event, this.#lastText)
    switch (event.type) {
      case 'prompt.submitted': {
        const { messageId, promptId, parts } = event
        const own = messageId !== undefined && this.#options.isOwn(messageId)
        if (own && event.seq > (this.#options.promptsUpTo ?? 0)) return []
        const text = promptText(parts.filter(({ type }) => type === 'text' || type === 'command'))
        return [{ type: 'user_text', at, msg_id: messageId ?? promptId, text, parts }]
      }
      case 'permission.resolved':
      case 'question.resolved': {
        const { requestId: id, outcome } = event
        return this.#asked.delete(id) ? [{ type: 'permission_resolved', at, id, outcome }] : []
      }
      case 'turn.ended': {
        const { turnId, outcome, stopReason, durationMs, structuredOutput } = event
        const result = event.result ?? (outcome === 'completed' ? this.#lastText : undefined)
        const end = { turnId, outcome, stopReason, durationMs, result, structuredOutput }
        return [{ type: 'turn_ended', at, ...defined(end) }]
      }
      default:
        return []
    }
  }
}

function lastTextAfter(event: SessionEvent, before: string | undefined): string | undefined {
  if (event.type === 'turn.started') return undefined
  return event.type === 'text.written' && event.parentToolCallId === undefined ? event.text : before
}

/** Merges neighbouring pieces of one text into one message. The content does not change. */
export function joined(messages: readonly PageMessage[]): PageMessage[] {
  const all: PageMessage[] = []
  for (const message of messages) {
    const before = all.at(-1)
    const both = before && together(before, message)
    if (both) all[all.length - 1] = both
    else all.push(message)
  }
  return all
}

function together(before: PageMessage, next: PageMessage): PageMessage | undefined {
  if (isPiece(before) && isPiece(next)) {
    const same = before.type === next.type && before.msg_id === next.msg_id
    return same ? { ...before, text: before.text + next.text } : undefined
  }
  if (isDraft(before) && isDraft(next) && before.toolCallId === next.toolCallId) return next
  return undefined
}

type Piece = Extract<IncomingMessage, { type: 'agent_text' | 'agent_thought' }>
type Update = Extract<IncomingMessage, { type: 'tool_call_update' }>

const isPiece = (message: PageMessage): message is Piece =>
  message.type === 'agent_text' || message.type === 'agent_thought'

/** A tool input that is still being written. The next update contains all of it. */
const isDraft = (message: PageMessage): message is Update =>
  message.type === 'tool_call_update' && message.status === undefined && typeof message.rawInput === 'string'
