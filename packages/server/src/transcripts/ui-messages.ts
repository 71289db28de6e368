import { type Delta, type EventOf, isKnown, type SessionEvent, type UnknownEvent } from '@parley/protocol'
import { SessionFacts } from './session-facts.ts'
import { TurnChunks } from './turn-chunks.ts'
import { type UiMessage, UiMessageFold } from './ui-message.ts'
import { promptMessage } from './ui-prompt.ts'

export type { UiMessage } from './ui-message.ts'

/**
 * A session's log as UI messages: for each turn its prompt and one message of the assistant. A prompt without a turn
 * (queued or withdrawn) is not a message, because the message that waits for an answer must be the last message;
 * otherwise no page would send the answer.
 */
export class UiMessages {
  readonly #facts: SessionFacts
  readonly #prompts = new Map<string, EventOf<'prompt.submitted'>>()
  readonly #messages: UiMessage[] = []
  #turn: { chunks: TurnChunks; fold: UiMessageFold } | undefined

  constructor(sessionId: string) {
    this.#facts = new SessionFacts(sessionId)
  }

  take(event: SessionEvent | UnknownEvent): void {
    if (!isKnown(event)) return
    if (event.type === 'prompt.submitted' && !event.turnId) this.#prompts.set(event.promptId, event)
    if (event.type === 'prompt.withdrawn') this.#prompts.delete(event.promptId)
    if (event.type === 'turn.started') this.#begin(event)
    if (!this.#turn) return void this.#facts.take(event)
    this.#fold(this.#turn.chunks.take(event))
    if (this.#turn.chunks.ended) this.#turn = undefined
  }

  stream(delta: Delta): void {
    if (this.#turn) this.#fold(this.#turn.chunks.stream(delta))
  }

  /** The messages so far, as an up-to-date page has them. */
  all(): UiMessage[] {
    const turn = this.#turn
    if (turn) {
      this.#fold(turn.chunks.settle())
      if (turn.chunks.asking)
        turn.fold.take({ type: 'message-metadata', messageMetadata: turn.chunks.place() })
    }
    return this.#messages
  }

  #begin({ turnId = '', promptId }: EventOf<'turn.started'>): void {
    const prompt = this.#prompts.get(promptId ?? '')
    this.#prompts.delete(promptId ?? '')
    if (prompt) this.#messages.push(promptMessage(prompt))
    const chunks = new TurnChunks(turnId, this.#facts, { sdk: 7 })
    const fold = new UiMessageFold()
    this.#turn = { chunks, fold }
    this.#messages.push(fold.message)
  }

  #fold(chunks: readonly Parameters<UiMessageFold['take']>[0][]): void {
    for (const chunk of chunks) this.#turn?.fold.take(chunk)
  }
}

/** Converts the events of one session, starting with its first, to the messages of an AI SDK page. */
export function uiMessagesOf(events: Iterable<SessionEvent | UnknownEvent>): UiMessage[] {
  let messages: UiMessages | undefined
  for (const event of events) {
    messages ??= new UiMessages(event.sessionId)
    messages.take(event)
  }
  return messages?.all() ?? []
}
