import { isRecord, type UiMessage } from '@parley/protocol'
import type { ToolNames, UiChunk } from './ui-chunk.ts'

export type { UiMessage } from '@parley/protocol'

type Part = UiMessage['parts'][number]
type ToolPart = Part & { toolCallId: string; state: string; approval?: Record<string, unknown> }
type TextPart = Part & { text: string; state: string }

/**
 * Folds the chunks of one response into its message, part by part, as the readers of the AI SDK do. The only
 * difference is the input of a call that is still being written: it remains text here, while those readers parse it
 * as partial JSON.
 */
export class UiMessageFold {
  readonly message: UiMessage = { id: '', role: 'assistant', parts: [] }
  readonly #texts = new Map<string, TextPart>()
  readonly #dataParts = new Map<string, Part>()
  #stepStart = 0

  take(chunk: UiChunk): void {
    switch (chunk.type) {
      case 'start':
        this.message.id = chunk.messageId
        return this.#merge(chunk.messageMetadata)
      case 'finish':
      case 'message-metadata':
        return this.#merge(chunk.messageMetadata)
      case 'start-step':
        this.#push({ type: 'step-start' })
        this.#stepStart = this.message.parts.length
        return
      case 'text-start':
      case 'reasoning-start':
        return this.#startText(chunk)
      case 'text-delta':
      case 'reasoning-delta': {
        const part = this.#texts.get(chunk.id)
        if (part) part.text += chunk.delta
        return
      }
      case 'text-end':
      case 'reasoning-end': {
        const part = this.#texts.get(chunk.id)
        if (part) part.state = 'done'
        this.#texts.delete(chunk.id)
        return
      }
      case 'file':
        return this.#push({ type: 'file', mediaType: chunk.mediaType, url: chunk.url })
      case 'abort':
      case 'error':
      case 'finish-step':
        return
      default:
        return chunk.type.startsWith('data-') ? this.#data(chunk) : this.#tool(chunk)
    }
  }

  #startText(chunk: Extract<UiChunk, { type: 'text-start' | 'reasoning-start' }>): void {
    const { id, providerMetadata } = chunk
    const kind = chunk.type === 'text-start' ? { type: 'text' } : { type: 'reasoning', id }
    const part: TextPart = { ...kind, text: '', providerMetadata, state: 'streaming' }
    this.#texts.set(id, part)
    this.#push(part)
  }

  #tool(chunk: UiChunk): void {
    switch (chunk.type) {
      case 'tool-input-start':
        return this.#names(chunk, { state: 'input-streaming' })
      case 'tool-input-available':
        return this.#names(chunk, { state: 'input-available', input: chunk.input })
      case 'tool-input-error':
        return this.#names(chunk, {
          state: 'output-error',
          input: chunk.input,
          errorText: chunk.errorText,
        })
      case 'tool-input-delta':
        return this.#change(chunk.toolCallId, (part) => {
          part.rawInput = `${part.rawInput ?? ''}${chunk.inputTextDelta}`
        })
      case 'tool-output-available': {
        const { output, preliminary } = chunk
        return this.#change(chunk.toolCallId, (part) =>
          reset(part, { state: 'output-available', input: part.input, output, preliminary }),
        )
      }
      case 'tool-output-error': {
        const { errorText } = chunk
        return this.#change(chunk.toolCallId, (part) =>
          reset(part, { state: 'output-error', input: part.input, errorText }),
        )
      }
      case 'tool-output-denied':
        return this.#change(chunk.toolCallId, (part) => {
          part.state = 'output-denied'
        })
      case 'tool-approval-request':
        return this.#change(chunk.toolCallId, (part) => {
          part.state = 'approval-requested'
          part.approval = { id: chunk.approvalId }
        })
      case 'tool-approval-response':
        return this.#respond(chunk)
    }
  }

  /**
   * Updates the part of a call if it is in the last step. A part in an earlier step is left unchanged, and a new part
   * is added.
   */
  #names(names: ToolNames, fields: Record<string, unknown>): void {
    const { toolCallId, toolName, title, providerExecuted } = names
    const known = this.message.parts
      .slice(this.#stepStart)
      .find((part) => part.type === 'dynamic-tool' && part.toolCallId === toolCallId)
    if (!known) {
      const part = { type: 'dynamic-tool', toolName, toolCallId, title, providerExecuted, ...fields }
      return this.#push(part)
    }
    reset(known as ToolPart, fields)
    Object.assign(known, { toolName, providerExecuted }, title !== undefined && { title })
  }

  #change(toolCallId: string, change: (part: ToolPart) => void): void {
    const part = this.message.parts.findLast((one) => one.toolCallId === toolCallId)
    if (part) change(part as ToolPart)
  }

  /** Applies an answer to every part that asked for it, as the page that gave the answer does. */
  #respond({ approvalId, approved, reason }: Extract<UiChunk, { type: 'tool-approval-response' }>): void {
    for (const part of this.message.parts as ToolPart[]) {
      if (part.approval?.id !== approvalId) continue
      const approval = { ...part.approval, approved, ...(reason !== undefined && { reason }) }
      Object.assign(part, { state: 'approval-responded', approval })
    }
  }

  #data(chunk: UiChunk): void {
    const { type, id, data } = chunk as Extract<UiChunk, { data: unknown }>
    const known = this.#dataParts.get(`${type} ${id}`)
    const part = known ?? { type, id, data }
    part.data = data
    if (known) return
    this.#dataParts.set(`${type} ${id}`, part)
    this.#push(part)
  }

  #push(part: Part): void {
    this.message.parts.push(part)
  }

  #merge(metadata: Record<string, unknown>): void {
    this.message.metadata = merged(this.message.metadata, metadata)
  }
}

/** Resets the fields of a part that describe its call. */
function reset(part: ToolPart, fields: Record<string, unknown>): void {
  for (const name of ['input', 'output', 'errorText', 'rawInput', 'preliminary']) delete part[name]
  Object.assign(part, fields)
}

/** Merges nested objects; any other value replaces the previous one. */
function merged(base: unknown, over: Record<string, unknown>): Record<string, unknown> {
  const result: Record<string, unknown> = { ...(isRecord(base) && base) }
  for (const [name, value] of Object.entries(over)) {
    if (value === undefined) continue
    result[name] = isRecord(value) && isRecord(result[name]) ? merged(result[name], value) : value
  }
  return result
}
