import type { SessionUpdate } from '@agentclientprotocol/sdk/unstable'
import { type Delta, isKnown, type SessionEvent, type UnknownEvent } from '@parley/protocol'
import type { IncomingMessage } from '../transcripts/incoming-messages.ts'
import type { RunEvent } from '../transcripts/run-events.ts'
import type { UiMessage } from '../transcripts/ui-message.ts'

/**
 * The content of a session that a face reported: the texts and the thinking of the main agent, and the outcome of each
 * call.
 */
export type Reported = {
  readonly said: readonly string[]
  readonly thought: readonly string[]
  readonly calls: Readonly<Record<string, Went>>
}
type Went = 'well' | 'not well'

const went = (isWell: boolean): Went => (isWell ? 'well' : 'not well')
const whole = (texts: Iterable<string>) => [...texts].filter((text) => text !== '')

/** Texts built from pieces, by id, in the order of their first pieces. */
class Pieces {
  readonly #texts = new Map<string, string>()

  add(id: string, piece: string): void {
    this.#texts.set(id, (this.#texts.get(id) ?? '') + piece)
  }

  drop(id: string): void {
    this.#texts.delete(id)
  }

  get all(): string[] {
    return whole(this.#texts.values())
  }
}

export function reportOfEvents(events: readonly (SessionEvent | UnknownEvent)[]): Reported {
  const said = new Pieces()
  const thought = new Pieces()
  const calls: Record<string, Went> = {}
  for (const event of events.filter(isKnown)) {
    if (event.type === 'block.retracted') {
      said.drop(event.blockId)
      thought.drop(event.blockId)
    }
    if ('parentToolCallId' in event && event.parentToolCallId !== undefined) continue
    if (event.type === 'text.written') said.add(event.blockId, event.text)
    if (event.type === 'thinking.written') thought.add(event.blockId, event.text)
    if (event.type === 'tool-call.called') calls[event.toolCallId] = 'not well'
    if (event.type === 'tool-call.ended' && event.toolCallId in calls) {
      calls[event.toolCallId] = went(event.outcome === 'completed')
    }
  }
  return { said: said.all, thought: thought.all, calls }
}

/** The streamed text of each block, by block id. */
export function streamedTexts(deltas: readonly Delta[]): Map<string, string> {
  const texts = new Map<string, string>()
  for (const delta of deltas) {
    if (delta.type !== 'text.streamed' && delta.type !== 'thinking.streamed') continue
    const text = texts.get(delta.blockId) ?? ''
    texts.set(delta.blockId, text.slice(0, delta.offset) + delta.text)
  }
  return texts
}

export function reportOfMessages(messages: readonly UiMessage[]): Reported {
  const parts = messages.filter(({ role }) => role === 'assistant').flatMap(({ parts }) => parts)
  const text = (type: 'text' | 'reasoning') =>
    whole(parts.flatMap((part) => (part.type === type ? [String(part.text)] : [])))
  const calls = parts.flatMap((part) =>
    'toolCallId' in part ? [[part.toolCallId, went(part.state === 'output-available')]] : [],
  )
  return { said: text('text'), thought: text('reasoning'), calls: Object.fromEntries(calls) }
}

export function reportOfIncoming(messages: readonly IncomingMessage[]): Reported {
  const said = new Pieces()
  const thought = new Pieces()
  const calls: Record<string, Went> = {}
  for (const message of messages) {
    if (message.type === 'retraction') {
      said.drop(message.msg_id)
      thought.drop(message.msg_id)
    }
    if (message.parentToolCallId !== undefined) continue
    if (message.type === 'agent_text') said.add(message.msg_id, message.text)
    if (message.type === 'agent_thought') thought.add(message.msg_id, message.text)
    if (message.type === 'tool_call') calls[message.toolCallId] = 'not well'
    if (message.type === 'tool_call_update' && message.status && message.toolCallId in calls) {
      calls[message.toolCallId] = went(message.status === 'completed')
    }
  }
  return { said: said.all, thought: thought.all, calls }
}

export function reportOfRuns(events: readonly RunEvent[]): Reported {
  const main = events.filter(({ data }) => data.parent_tool_call_id === undefined)
  const text = (kind: string) =>
    whole(
      main.flatMap(({ type, data }) =>
        type === 'message_streamed' && data.kind === kind ? [String(data.content)] : [],
      ),
    )
  const calls = main.flatMap(({ type, data }) =>
    type === 'tool_call_completed' ? [[data.tool_call_id, went(data.status === 'completed')]] : [],
  )
  return { said: text('text'), thought: text('thinking'), calls: Object.fromEntries(calls) }
}

/** ACP does not mark the end of a text, so all chunks of a kind form one text. */
export function reportOfUpdates(updates: readonly SessionUpdate[]): Reported {
  const texts = { agent_message_chunk: '', agent_thought_chunk: '' }
  const calls: Record<string, Went> = {}
  for (const update of updates) {
    if (isOfSubagent(update)) continue
    if (update.sessionUpdate === 'agent_message_chunk' || update.sessionUpdate === 'agent_thought_chunk') {
      if (update.content.type === 'text') texts[update.sessionUpdate] += update.content.text
    }
    if (update.sessionUpdate === 'tool_call') calls[update.toolCallId] = 'not well'
    if (update.sessionUpdate === 'tool_call' || update.sessionUpdate === 'tool_call_update') {
      if (update.status && update.toolCallId in calls)
        calls[update.toolCallId] = went(update.status === 'completed')
    }
  }
  return { said: [texts.agent_message_chunk], thought: [texts.agent_thought_chunk], calls }
}

function isOfSubagent({ _meta }: SessionUpdate): boolean {
  return JSON.stringify(_meta ?? {}).includes('arentToolCallId')
}

export function inOne({ said, thought, calls }: Reported): Reported {
  return { said: [said.join('')], thought: [thought.join('')], calls }
}
