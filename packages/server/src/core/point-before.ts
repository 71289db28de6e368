import type { AgentAdapter } from '@parley/adapter-kit'
import {
  applyToState,
  defined,
  emptyState,
  type ForkPoint,
  isKnown,
  ParleyError,
  type Prompt,
  type SessionEvent,
  type SessionState,
  type UnknownEvent,
  unredacted,
} from '@parley/protocol'
import { readEvents } from './read-events.ts'
import type { SessionStore } from './session-store.ts'

const pageSize = 1000
/**
 * The maximum number of prompts that a fork point names. It names several because an agent may not have stored a
 * prompt whose turn failed at once.
 */
const maxNamed = 5

/** A point in a log that precedes the turn of a prompt. */
export type LogPoint = {
  /** The seq of the last event before the turn. */
  readonly seq: number
  /** The fork point of the agent's conversation. Undefined if the agent has received no prompt since this point. */
  readonly forkPoint?: ForkPoint
  readonly isTakenBack: boolean
}

type Memory = Pick<AgentAdapter, 'name' | 'conversations' | 'dropsCompacted'>

/** Finds the point before the turn that this prompt started. Rejects with a ParleyError if there is no such turn. */
export async function pointBefore(
  store: Pick<SessionStore, 'read'>,
  { id, epoch, seq: head }: Pick<SessionState, 'id' | 'epoch' | 'seq'>,
  promptId: string,
  adapter: Memory | undefined,
): Promise<LogPoint> {
  const search = new Search(emptyState(id, epoch), promptId, adapter)
  while (search.seq < head) {
    const limit = Math.min(pageSize, head - search.seq)
    const page = await readEvents(store, id, { after: search.seq, limit })
    if (page.length === 0) break
    for (const { json } of page) search.take(JSON.parse(json) as SessionEvent | UnknownEvent)
  }
  return search.result()
}

class Search {
  readonly #promptId: string
  readonly #adapter: Memory | undefined
  #state: SessionState
  /** The seq of the event that submitted the prompt. */
  #submitted: number | undefined
  /** The prompt that started the turn into which the prompt was steered. */
  #steeredInto: string | undefined
  #found: number | undefined
  /** The seq of the rewind that took the turn back. */
  #takenBack: number | undefined
  #point: { agentSessionId: string; before: string[] } | undefined
  /** True if the fork point is complete: no later prompt is added to it. */
  #isNamed = false
  /** True if the conversation that received the prompt was compacted after it. */
  #isCompacted = false

  constructor(state: SessionState, promptId: string, adapter: Memory | undefined) {
    this.#state = state
    this.#promptId = promptId
    this.#adapter = adapter
  }

  get seq(): number {
    return this.#state.seq
  }

  take(event: SessionEvent | UnknownEvent): void {
    const { seq, at } = event
    if (isKnown(event)) this.#note(unredacted(event))
    this.#state = isKnown(event) ? applyToState(this.#state, event) : { ...this.#state, seq, updatedAt: at }
  }

  #note(event: SessionEvent): void {
    if (event.type === 'prompt.submitted' && event.promptId === this.#promptId) {
      this.#submitted = event.seq
      this.#steeredInto = event.turnId && this.#state.turn?.prompt?.promptId
    }
    if (event.type === 'turn.started' && event.promptId === this.#promptId) this.#begin(event.seq)
    if (this.#found === undefined) return
    if (event.type === 'session.rewound' && event.talk && event.from <= this.#found + 1)
      this.#takenBack = event.seq
    if (event.type === 'session.unrewound' && event.rewound === this.#takenBack) this.#takenBack = undefined
    if (event.type === 'turn.ended' || event.type === 'context.compacted') this.#name(this.#state)
    if (event.type === 'context.compacted') this.#compacted(this.#state)
  }

  #begin(seq: number): void {
    const prompt = this.#state.queue.find(({ promptId }) => promptId === this.#promptId)
    if (prompt && isForProgram(prompt)) throw noMessage(this.#promptId)
    this.#found = this.#submitted === seq - 1 ? seq - 2 : seq - 1
  }

  /** Names the prompt of the open turn, if the agent has received it. */
  #name({ turn, connection }: SessionState): void {
    const { prompt, delivered } = turn ?? {}
    const agentSessionId = connection?.agentSessionId
    if (this.#isNamed || !prompt || !delivered || isForProgram(prompt) || agentSessionId === undefined) return
    this.#point ??= { agentSessionId, before: [] }
    if (this.#point.agentSessionId === agentSessionId)
      this.#point.before.push(this.#idOf(prompt, agentSessionId))
    this.#isNamed = this.#point.agentSessionId !== agentSessionId || this.#point.before.length === maxNamed
  }

  /**
   * Completes the fork point at a compaction: the agent no longer has the text before it, so later prompts do not
   * mark the same point.
   */
  #compacted({ connection }: SessionState): void {
    if (!this.#point) return
    this.#isNamed = true
    this.#isCompacted ||= this.#point.agentSessionId === connection?.agentSessionId
  }

  /** The id under which the agent stores a prompt. */
  #idOf({ promptId, outside }: Prompt, agentSessionId: string): string {
    return outside?.id ?? this.#adapter?.conversations?.idOf?.(agentSessionId, promptId) ?? promptId
  }

  result(): LogPoint {
    const isTakenBack = this.#takenBack !== undefined
    if (this.#isCompacted && this.#adapter?.dropsCompacted)
      throw compacted(this.#adapter.name, this.#promptId)
    if (this.#found !== undefined)
      return { seq: this.#found, ...defined({ forkPoint: this.#point }), isTakenBack }
    throw this.#submitted === undefined
      ? unknownPrompt(this.#promptId)
      : noTurn(this.#promptId, this.#steeredInto)
  }
}

/** True for a prompt that the agent's program handles by itself and does not store in its conversation. */
function isForProgram({ parts: [part, ...others] }: Prompt): boolean {
  return (
    part?.type === 'command' && others.length === 0 && (part.name === 'compact' || part.name === 'rewind')
  )
}

function compacted(name: string, promptId: string): ParleyError {
  const message = `${name} compacted its conversation after that prompt, and cannot go back to before a compaction. Name a later prompt.`
  return new ParleyError('conflict', message, { details: { promptId } })
}

function unknownPrompt(promptId: string): ParleyError {
  const message = 'There is no prompt with that id in this session.'
  return new ParleyError('not_found', message, { details: { promptId } })
}

function noTurn(promptId: string, steeredInto: string | undefined): ParleyError {
  const message =
    steeredInto === undefined
      ? 'That prompt has not started a turn, so nothing follows it. Fork the session without naming a prompt.'
      : 'That prompt was sent into a running turn. Name the prompt that started the turn.'
  return new ParleyError('conflict', message, { details: { promptId, ...defined({ steeredInto }) } })
}

function noMessage(promptId: string): ParleyError {
  const message = 'That prompt is a command, not a message to the model. Name another prompt.'
  return new ParleyError('conflict', message, { details: { promptId } })
}
