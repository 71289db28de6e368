import { defined, type EventOf } from '@parley/protocol'
import { outputOf } from './tool-output.ts'
import type { UiChunk } from './ui-chunk.ts'

/**
 * The events of a subagent, without its requests. They become data parts of Parley's own, each with the call that
 * started the subagent.
 */
type Nested =
  | EventOf<'text.written'>
  | EventOf<'thinking.written'>
  | EventOf<'tool-call.called'>
  | EventOf<'tool-call.updated'>
  | EventOf<'tool-call.ended'>

export class TurnSubagents {
  readonly #emit: (chunk: UiChunk) => void
  readonly #calls = new Map<string, Record<string, unknown>>()

  constructor(emit: (chunk: UiChunk) => void) {
    this.#emit = emit
  }

  take(event: Nested, toolCallId: string): void {
    switch (event.type) {
      case 'text.written':
      case 'thinking.written':
        if (event.text === '') return
        return this.#emitData(event.blockId, {
          toolCallId,
          type: event.type === 'text.written' ? 'text' : 'thinking',
          text: event.text,
        })
      case 'tool-call.called': {
        const { toolCallId: callId, name, kind, title, input } = event
        const call = { toolCallId, type: 'tool-call', callId, name, kind, title, input, status: 'running' }
        return this.#call(callId, call)
      }
      case 'tool-call.updated': {
        const { title, input } = event
        if (title === undefined && input === undefined) return
        return this.#call(event.toolCallId, defined({ title, input }))
      }
      case 'tool-call.ended':
        this.#call(event.toolCallId, { status: event.outcome, output: outputOf(event.content) })
        this.#calls.delete(event.toolCallId)
    }
  }

  /** The call that started the subagent which made this call, while this call runs. */
  parentOf(callId: string): string | undefined {
    return this.#calls.get(callId)?.toolCallId as string | undefined
  }

  #call(callId: string, news: Record<string, unknown>): void {
    const call = { ...this.#calls.get(callId), ...news }
    this.#calls.set(callId, call)
    this.#emitData(callId, call)
  }

  #emitData(id: string, data: unknown): void {
    this.#emit({ type: 'data-subagent', id, data })
  }
}
